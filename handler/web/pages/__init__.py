"""The console's pages: rendered and escaped here, kept fresh by server-sent events, and read-only."""
