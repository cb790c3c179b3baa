"""Randomized response: its risk and the search for the best matrices."""
