"""What people and alerts may ask of the daemon, each operation once, for every door."""
