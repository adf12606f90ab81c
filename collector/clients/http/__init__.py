"""HTTP for whatever is asked over it: bounded, with total deadlines, and parsed beside the event loop."""
