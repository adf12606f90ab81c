"""What the handler asks of clouds, balancers, the store and the clock; drivers answer it."""
