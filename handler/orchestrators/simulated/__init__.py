"""Members are servers of a simulated cloud."""
