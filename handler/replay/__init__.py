"""Replay: the decision code run over a recording or over a load, with a virtual clock."""
