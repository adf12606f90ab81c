"""Which settings of a group would have done better: candidates, what each comes to, and the choice among them."""
