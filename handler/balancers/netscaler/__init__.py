"""Members are members of a service group of a NetScaler."""
