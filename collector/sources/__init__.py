"""One file per kind of source: a pure decode and a thin fetch."""
