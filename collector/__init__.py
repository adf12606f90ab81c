"""Stage 1, world to Scrape: asks every source, invents nothing."""
