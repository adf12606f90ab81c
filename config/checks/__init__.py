"""What the parts of a file may say about each other: what is refused, and what is warned of."""
