"""Seeds of commands that simulate: given, or new and told, so that it can be given again."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def seeded(seed: int | None) -> tuple[np.random.Generator, int]:
    """A generator and its seed, the one given or 64 bits of the operating system.

    Examples
    --------
    >>> rng, seed = seeded(None)
    >>> rng.random() == seeded(seed)[0].random()
    True
    """
    import numpy as np

    used = secrets.randbits(64) if seed is None else seed
    # PCG64 by name: what default_rng means may change between numpy versions
    return np.random.Generator(np.random.PCG64(used)), used
