"""Randomized response with optimal matrices."""
