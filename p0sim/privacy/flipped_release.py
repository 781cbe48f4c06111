"""Degrees of a network whose edges were flipped, drawn to be published."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from p0sim.privacy.edge_flip import FlippedBiDegree
from p0sim.privacy.release import Released
from p0sim.privacy.release_record import ReleaseRecord


@dataclass(frozen=True, eq=False, init=False, repr=False)
class FlippedRelease(Released, FlippedBiDegree):
    """Out-degrees and in-degrees of a flipped network, drawn to be published.

    Parameters
    ----------
    record : ReleaseRecord
        What is public about it.
    out_degree, in_degree : array_like of int, shape (n,)
        Sums of the flipped network.
    nodes : sequence of str
        The public node list.

    Notes
    -----
    Neighbours are two networks that differ in the weight of one ordered pair, anywhere in 0..q-1.
    Protected is that weight, with loss epsilon; not a node with all its edges.
    """

    record: ReleaseRecord

    def __init__(
        self, record: ReleaseRecord, out_degree: ArrayLike, in_degree: ArrayLike, nodes: Any
    ) -> None:
        super().__init__(out_degree, in_degree, record.q, float(Fraction(record.epsilon)), nodes)
        object.__setattr__(self, "record", record)
