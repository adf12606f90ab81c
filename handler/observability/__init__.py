"""What the daemon reports about itself: metrics, log lines of transitions, notices."""
