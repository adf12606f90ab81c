"""One client of CloudStack's API, for counters and for drivers: commands, signed, and their answers."""
