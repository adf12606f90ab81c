"""What a file declares, as the core sees it: frozen values, resolved, free of YAML."""
