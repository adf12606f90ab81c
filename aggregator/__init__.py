"""Stage 2, Scrape to Frame: rates, windows, aggregates. Pure."""
