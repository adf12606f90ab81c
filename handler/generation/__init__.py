"""Whether this store, and this daemon, are the ones that fleets are kept by."""
