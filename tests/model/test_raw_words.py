"""Whole words of every bit generator, whichever way they are fetched."""

from __future__ import annotations

import numpy as np
import pytest

from p0sim.model.raw_words import raw_words

KINDS = [getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")]


class Renamed(np.random.PCG64):
    """A bit generator the package does not know."""


@pytest.mark.parametrize("kind", [*KINDS, Renamed])
def test_words_are_the_64_bit_integers_of_the_generator(kind):
    """Oracle: numpy's integers over the whole range; the state moves on alike."""
    one, other = (np.random.Generator(kind(3)) for _ in range(2))
    for count in (5, 0, 1):
        expected = other.integers(2**64, size=count, dtype=np.uint64)
        np.testing.assert_array_equal(raw_words(one, count), expected)
    assert one.random() == other.random()
