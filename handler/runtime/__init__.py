"""The parts of a running daemon: the groups in memory, the queue that every decision passes, and the loops."""
