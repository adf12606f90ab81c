"""Members are processes of this machine."""
