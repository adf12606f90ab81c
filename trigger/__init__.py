"""Stage 3, Frame to Decision: truths, durations, guards and the decision. Pure."""
