"""What CloudStack measures of members that are its virtual machines."""
