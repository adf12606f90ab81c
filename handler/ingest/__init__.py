"""What comes in from outside: alerts and pushed values."""
