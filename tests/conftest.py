"""One setting for every run: no display, and property tests that repeat themselves."""

from __future__ import annotations

import os

from hypothesis import settings

# Before anything imports pyplot, here and in worker processes.
os.environ["MPLBACKEND"] = "Agg"

# A busy machine must not fail a test, and a failure must come back on the next run.
settings.register_profile("p0sim", deadline=None, derandomize=True)
settings.load_profile("p0sim")
