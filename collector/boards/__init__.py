"""Values that come in by themselves, and wait here for the next poll."""
