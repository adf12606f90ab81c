"""Pages for people: rendered here, escaped by construction, kept fresh by server-sent events. Reading only."""
