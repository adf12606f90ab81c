"""The advice of each policy of a group, before any guard."""
