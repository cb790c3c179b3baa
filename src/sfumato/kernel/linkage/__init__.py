"""Probabilities of links between people and values."""
