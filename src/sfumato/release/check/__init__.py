"""Verify a release from its public part alone."""
