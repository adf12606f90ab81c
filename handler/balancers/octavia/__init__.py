"""Members are members of a pool of Octavia."""
