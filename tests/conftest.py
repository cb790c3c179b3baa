"""Hypothesis draws new examples on every run of a developer, and always the same ones in CI."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, database=None)
if os.environ.get("CI"):
    settings.load_profile("ci")
