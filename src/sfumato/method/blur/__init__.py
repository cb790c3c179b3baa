"""Cuts that are refused at random, so that a refusal tells little."""
