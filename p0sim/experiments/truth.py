"""Where the true parameters of a study come from."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from p0sim.arrays import require_labels
from p0sim.datasets import load_network
from p0sim.errors import InvalidStudyError, NoEstimateError, P0SimError
from p0sim.estimate.moments import fit_moments
from p0sim.model.bidegree import BiDegree
from p0sim.model.edge_files import read_network, read_text_table
from p0sim.model.p0 import P0Model, linear_design
from p0sim.replicate import Cell

LINEAR = "linear"
LARGEST_N = 1_000_000
SOURCES = "linear, dataset:NAME, network:PATH or parameters:PATH"


class Truth(Protocol):
    """The data-generating model of every cell."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Factors the study must have."""
        ...

    @property
    def constants(self) -> dict[str, int]:
        """n and q where the truth fixes them."""
        ...

    def content(self) -> dict[str, Any]:
        """What identifies the truth, JSON-able."""
        ...

    def model(self, cell: Cell) -> P0Model:
        """The model of one cell."""
        ...


@dataclass(frozen=True)
class LinearTruth:
    """The paper's design, from the factors n, q and L."""

    needs: tuple[str, ...] = ("n", "q", "L")

    @property
    def constants(self) -> dict[str, int]:
        """Nothing is fixed."""
        return {}

    def content(self) -> dict[str, Any]:
        """The design's name; its factors are the cell's own."""
        return {"theta": LINEAR}

    def model(self, cell: Cell) -> P0Model:
        """Build the linear design of the cell."""
        n, q, L = (cell.factors[name] for name in self.needs)
        if isinstance(n, int) and n > LARGEST_N:
            raise InvalidStudyError(f"[factors] n must be at most {LARGEST_N}, a million; got {n}")
        return linear_design(n, L, q)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class FixedTruth:
    """One parameter vector for all cells: fitted to a real network, or read from a file.

    Attributes
    ----------
    theta : str
        As the study file writes it.
    digest : str
        Hash of the degrees or of the parameters, part of the study's identity.
    fixed : P0Model
        With labels "1".."n": study files speak of positions.
    """

    theta: str
    digest: str
    fixed: P0Model
    needs: tuple[str, ...] = ()

    @property
    def constants(self) -> dict[str, int]:
        """Both n and q are fixed."""
        return {"n": self.fixed.n, "q": self.fixed.q}

    def content(self) -> dict[str, Any]:
        """Source and hash: a changed file is another study."""
        return {"theta": self.theta, "digest": self.digest, "q": self.fixed.q}

    def model(self, cell: Cell) -> P0Model:
        """The same model whatever the cell."""
        return self.fixed


def find_truth(theta: str, q: int | None, folder: Path) -> Truth:
    """The truth a study file names.

    Parameters
    ----------
    theta : str
        "linear", "dataset:NAME", "network:PATH" or "parameters:PATH"; paths are relative to the
        study file.
    q : int or None
        Weights lie in 0..q-1; needed with a path, known for the others.
    folder : Path
        Where the study file stands.

    Returns
    -------
    LinearTruth or FixedTruth

    Raises
    ------
    InvalidStudyError
        If the text is none of those, q is missing or too many, or the source breaks a rule.

    Examples
    --------
    >>> find_truth("dataset:fraternity", None, Path()).constants
    {'n': 58, 'q': 5}
    """
    kind, _, name = theta.partition(":")
    if (kind in ("network", "parameters")) != (q is not None):
        raise InvalidStudyError(
            "[model] q must be given with network: and parameters: and with them only; "
            f"got theta = {theta!r}, q = {q}"
        )
    try:
        match kind:
            case "linear" if not name:
                return LinearTruth()
            case "dataset":
                return _fitted(theta, load_network(name).bidegree())
            case "network" if q is not None:
                return _fitted(theta, read_network(folder / name, q).bidegree())
            case "parameters" if q is not None:
                return _read_parameters(theta, folder / name, q)
    except P0SimError as error:
        raise InvalidStudyError(f"[model] theta = {theta!r}: {error}") from None
    raise InvalidStudyError(f"[model] theta must be {SOURCES}; got {theta!r}")


def refuse_fixed(truth: Truth, factors: Collection[str]) -> None:
    """Refuse the factors of the linear design beside a truth that leaves no room for them.

    Raises
    ------
    InvalidStudyError
        Names them, and what is fixed.

    Examples
    --------
    >>> refuse_fixed(find_truth("dataset:fraternity", None, Path()), ["n", "L", "epsilon"])
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: [factors] must leave out n, L: [model] theta = \
'dataset:fraternity' fixes n = 58, q = 5 and all parameters
    """
    idle = [name for name in factors if name in LinearTruth.needs and name not in truth.needs]
    if idle:
        fixed = ", ".join(f"{name} = {number}" for name, number in truth.constants.items())
        raise InvalidStudyError(
            f"[factors] must leave out {', '.join(idle)}: [model] theta = "
            f"{truth.content()['theta']!r} fixes {fixed} and all parameters"
        )


def _fitted(theta: str, degrees: BiDegree) -> FixedTruth:
    try:
        model = fit_moments(degrees).model
    except NoEstimateError as error:
        raise InvalidStudyError(
            f"the network has no estimate to start from: {error.reason}"
        ) from None
    digest = _digest(degrees.out_degree, degrees.in_degree)
    return FixedTruth(theta, digest, P0Model(model.alpha, model.beta, model.q))


def _read_parameters(theta: str, path: Path, q: int) -> FixedTruth:
    table = read_text_table(path)
    header = [name.strip().lower() for name in table.iloc[0]]
    if sorted(header) != ["alpha", "beta", "node"]:
        raise InvalidStudyError(f"columns must be node, alpha, beta; got {', '.join(header)}")
    table = table.iloc[1:].set_axis(header, axis=1)
    try:
        alpha, beta = (table[name].astype(float).to_numpy() for name in ("alpha", "beta"))
    except ValueError as error:
        raise InvalidStudyError(f"parameters must be numbers: {error}") from None
    require_labels([name.strip() for name in table["node"]], len(table))
    return FixedTruth(theta, _digest(alpha, beta), P0Model(alpha, beta, q))


def _digest(first: NDArray[Any], second: NDArray[Any]) -> str:
    written = [repr(value) for value in [*first.tolist(), *second.tolist()]]
    return hashlib.sha256(",".join(written).encode()).hexdigest()[:16]
