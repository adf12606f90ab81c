"""What to do so that a group becomes what it is desired to be. Pure: facts in, steps out."""
