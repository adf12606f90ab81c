"""Stage 1, from sources to Scrape: reads every source, invents nothing."""
