"""What OpenNebula knows of members that are its virtual machines."""
