"""What another setting of a group would have come to, answered beside the daemon for persons who wait for it."""
