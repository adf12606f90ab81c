"""Nova's and Gnocchi's measurements of members that are servers of OpenStack."""
