"""Size a group by what its load will need: two forecasts, their spread, and virtual fleets that choose the headroom."""
