"""Values that senders push, kept for the next poll."""
