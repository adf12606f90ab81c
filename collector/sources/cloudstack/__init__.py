"""CloudStack's measurements of members that are its virtual machines."""
