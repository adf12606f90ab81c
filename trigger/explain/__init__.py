"""Why a group did what it did, as a value and in words."""
