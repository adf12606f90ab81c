"""Members are nodes of roles of OneFlow services."""
