"""The shape of the YAML file: which keys there are, what each of them takes, and where in the file it stands."""
