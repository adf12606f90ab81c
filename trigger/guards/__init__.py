"""What stands between a wish and a new size, and which wish wins."""
