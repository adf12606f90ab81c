"""Stage 4, Decision to changed world: desired size, plan, steps, drivers, store, API."""
