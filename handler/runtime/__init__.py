"""What runs while the daemon runs: the groups in memory, the door that every decision passes, and the loops."""
