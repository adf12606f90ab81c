"""HAProxy's own statistics, of each member or of the group."""
