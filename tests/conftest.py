"""Hypothesis draws new examples on every run of a developer, and always the same ones in CI.

How long an example takes says more about the machine than about the code, so nothing fails for it.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")
