"""Members of one machine share one listening socket, which a small holder process hands out."""
