"""How endpoints are reached: one client per vendor, deadlines, and circuits that leave a dead endpoint alone."""
