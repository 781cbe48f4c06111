"""One replicate: the cell it belongs to, its random streams, what comes out of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np

from p0sim.columns import FITTED, STATUSES
from p0sim.errors import InvalidStudyError

TRUTH, NETWORK, NOISE, OTHER = range(4)
ESTIMATE_FIELDS = ("estimand", "estimate", "std_error", "lower", "upper", "true_value", "z")

FactorValue: TypeAlias = int | float | str
Words: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Cell:
    """One data-generating setting of a study.

    Parameters
    ----------
    id : str
        Short content hash, the same however the grid is written or extended.
    factors : mapping of str to number or text
        The value of every factor.
    rules : mapping of str to str
        The same factors as the study file writes them.
    target_reps : int
        Replicates asked for.

    Examples
    --------
    >>> cell = Cell("0f3a", {"n": 100, "L": 1.5}, {"n": "100", "L": "3/2"}, target_reps=10)
    >>> cell.factors["n"], cell.rules["L"]
    (100, '3/2')
    """

    id: str
    factors: Mapping[str, FactorValue]
    rules: Mapping[str, str]
    target_reps: int = 0


@dataclass(frozen=True)
class Outcome:
    """What one method made of one simulated data set.

    Parameters
    ----------
    status : str
        How it ended: one of `p0sim.columns.STATUSES`.
    reason : str
        Why there is no estimate; empty when there is one.
    n_iter : int
        Solver iterations; -1 when unknown.
    residual, sup_error : float
        Largest residual, largest error over all parameters; nan when unknown.
    estimates : tuple of dict
        One dict an estimand, with the keys of ESTIMATE_FIELDS; missing numbers are nan.

    Raises
    ------
    InvalidStudyError
        If status is not a known one, or there are estimates beside another status than ok.

    Examples
    --------
    >>> Outcome("no_estimate", reason="out_degree of node 3 is 0").estimates
    ()
    """

    status: str
    reason: str = ""
    n_iter: int = -1
    residual: float = float("nan")
    sup_error: float = float("nan")
    estimates: tuple[dict[str, Any], ...] = field(default=())

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise InvalidStudyError(
                f"status must be one of {', '.join(STATUSES)}; got {self.status!r}"
            )
        if self.estimates and self.status != FITTED:
            raise InvalidStudyError(f"estimates must come with status ok; got {self.status!r}")


@dataclass(frozen=True)
class Streams:
    """The random generators of one replicate, one a stage, made when first asked for.

    Parameters
    ----------
    seed : int
        Seed of the study, 0 <= seed < 2^128.
    own_key : tuple of int
        Four 32-bit words: the hash of the whole content of the cell.
    shared_key : tuple of int
        The same without the factors across which networks are shared.
    rep : int
        Number of the replicate, from 1; 0 for a trial that is not kept.

    Examples
    --------
    >>> streams = Streams(seed=1, own_key=(1, 2, 3, 4), shared_key=(1, 2, 3, 4), rep=1)
    >>> streams.noise is streams.noise
    True
    >>> streams.other("mine").random() == streams.other("yours").random()
    False
    """

    seed: int
    own_key: Words
    shared_key: Words
    rep: int
    _others: dict[str, np.random.Generator] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def truth(self) -> np.random.Generator:
        """Stage 0: the parameters."""
        return self._generator(self.shared_key, TRUTH)

    @cached_property
    def network(self) -> np.random.Generator:
        """Stage 1: the network."""
        return self._generator(self.shared_key, NETWORK)

    @cached_property
    def noise(self) -> np.random.Generator:
        """Stage 2: the privacy noise of degrees."""
        return self._generator(self.own_key, NOISE)

    @cached_property
    def flips(self) -> np.random.Generator:
        """Stage 2 as well: the flips of edges. They and the noise of degrees never share a draw."""
        return self._generator(self.own_key, NOISE, hash_words("edge_flip"))

    def other(self, method: str) -> np.random.Generator:
        """Stage 3: whatever else this method draws; one generator a method."""
        if method not in self._others:
            self._others[method] = self._generator(self.own_key, OTHER, hash_words(method))
        return self._others[method]

    def _generator(self, key: Words, stage: int, method: Words = ()) -> np.random.Generator:
        # As SeedSequence(seed, spawn_key=(*key, rep, stage, *method)) puts its words together,
        # which takes it twice as long.
        words = (*_seed_words(self.seed), *key, self.rep, stage, *method)
        sequence = np.random.SeedSequence(np.array(words, dtype=np.uint32))
        # PCG64 by name: what default_rng means may change between numpy versions.
        return np.random.Generator(np.random.PCG64(sequence))


@lru_cache(maxsize=8)
def _seed_words(seed: int) -> Words:
    """Four 32-bit words, the lowest first."""
    return tuple(seed >> shift & 0xFFFFFFFF for shift in (0, 32, 64, 96))


# The fits of one data set by the name of their method, each run when called and apart from the
# others: one that raises leaves theirs alone. The engine calls them in file order and times them.
Fit: TypeAlias = Callable[[], Outcome]
Simulate: TypeAlias = Callable[[Streams], Mapping[str, Fit]]


class Experiment(Protocol):
    """What the engine needs to know of an experiment; instances must pickle."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, in file order."""
        ...

    @property
    def shared_factors(self) -> frozenset[str]:
        """Factors across which the truth and the networks are the same."""
        ...

    @property
    def sources(self) -> Mapping[str, str]:
        """Texts of the Python files that the study file names, by their names there."""
        ...

    def content(self, cell: Cell) -> dict[str, Any]:
        """JSON-able data-generating content of the cell beyond its factors."""
        ...

    def identity(self) -> dict[str, Any]:
        """JSON-able: everything whose change makes old rows another study."""
        ...

    def cost(self, cell: Cell) -> float:
        """Seconds a replicate, a first guess."""
        ...

    def prepare(self, cell: Cell) -> Simulate:
        """Work done once a block; the result simulates one data set."""
        ...


def hash_words(text: str) -> Words:
    """128-bit hash of a text as four 32-bit words, the form a spawn key takes.

    Examples
    --------
    >>> len(hash_words("paper")), max(hash_words("paper")) < 2**32
    (4, True)
    """
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return tuple(int.from_bytes(digest[i : i + 4], "big") for i in range(0, 16, 4))
