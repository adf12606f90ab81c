"""Members are servers of an OpenStack project."""
