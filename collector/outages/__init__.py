"""What was not heard, since when, what it means, and what to do about it."""
