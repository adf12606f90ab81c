"""The store: all state that must survive a crash."""
