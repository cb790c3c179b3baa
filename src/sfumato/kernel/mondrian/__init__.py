"""Median cuts."""
