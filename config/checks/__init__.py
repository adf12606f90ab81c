"""Rules between the parts of a file: errors and warnings."""
