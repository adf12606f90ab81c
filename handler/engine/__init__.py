"""The loops of one daemon, put together: from start to stop, through every reload."""
