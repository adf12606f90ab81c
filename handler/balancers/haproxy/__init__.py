"""Members are servers of a backend of HAProxy."""
