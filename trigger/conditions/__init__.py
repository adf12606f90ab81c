"""Judge conditions: whether one holds now, and for how long it has held."""
