"""One setting for every run: no display, and property tests that repeat themselves."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import settings

# Before anything imports pyplot, here and in worker processes.
os.environ["MPLBACKEND"] = "Agg"

# numba looks at a kernel's own file alone, though one that it calls may have changed: each state of
# the kernels has a cache of its own, here and in worker processes.
ROOT = Path(__file__).parents[1]
TEXTS = [path.read_bytes() for path in sorted((ROOT / "p0sim").rglob("*.py"))]
STATE = hashlib.sha256(b"".join(text for text in TEXTS if b"kernel" in text)).hexdigest()[:12]
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / "build" / f"numba-{STATE}"))

# A busy machine must not fail a test, and a failure must come back on the next run.
settings.register_profile("p0sim", deadline=None, derandomize=True)
settings.load_profile("p0sim")


@pytest.fixture(scope="session")
def network_data() -> Path:
    """Folder of real networks: $P0SIM_DATA, else one beside the checkout, else a skip."""
    folder = Path(os.environ.get("P0SIM_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "datasets.toml").is_file():
        pytest.skip(f"the real networks are not here: no datasets.toml in {folder}")
    return folder
