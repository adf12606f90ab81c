"""What Nova and Gnocchi measure of members that are servers of OpenStack."""
