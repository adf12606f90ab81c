"""Members are servers of a cloud that is only played."""
