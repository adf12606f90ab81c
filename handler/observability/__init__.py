"""What the daemon tells of itself: metrics, log lines of transitions, notices."""
