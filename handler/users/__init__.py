"""Users of a running daemon, their tokens, and which of them a request belongs to."""
