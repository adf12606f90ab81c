"""Values in: numbers that members and applications send by themselves, in three shapes."""
