"""What each policy of a group advises, before any guard."""
