"""OpenNebula's values for members that are its virtual machines."""
