"""What can go wrong, as types: every error of the package is a child of P0SimError."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from p0sim.arrays import FloatVector

LABELS_SHOWN = 12


class P0SimError(Exception):
    """Parent of every error the package raises on purpose."""


class InvalidNetworkError(P0SimError, ValueError):
    """A network or a bi-degree that breaks a rule of the model."""


class InvalidParametersError(P0SimError, ValueError):
    """Model parameters, a contrast or a level out of their range."""


class InvalidPrivacyError(P0SimError, ValueError):
    """A privacy loss or a mechanism that cannot be honoured."""


class InvalidStudyError(P0SimError, ValueError):
    """A study file that does not say what to run."""


class StudyMismatchError(P0SimError, ValueError):
    """A results directory that belongs to another study."""


class CannotWriteError(P0SimError, OSError):
    """A results directory that a full or read-only disk refuses to write."""


class NoEstimateError(P0SimError):
    """The moment equations have no solution; known before any solving.

    Attributes
    ----------
    reason : str
        One line naming the margin or the separated blocks.
    nodes : tuple of str
        Labels of the nodes involved.
    ways : tuple of str
        Arguments of fit that go on all the same, as written in Python, each with what it is for;
        they exclude each other. The message ends with them.
    """

    def __init__(self, reason: str, nodes: Sequence[str] = (), ways: Sequence[str] = ()) -> None:
        self.reason = reason
        self.nodes = tuple(nodes)
        self.ways = tuple(ways)
        super().__init__(f"{reason}; {self.hint}" if ways else reason)

    @property
    def hint(self) -> str:
        """The ways to go on, as the message tells them; empty where there is none."""
        either = "either " if len(self.ways) > 1 else ""
        return f"to go on: {either}{' or '.join(self.ways)}" if self.ways else ""

    def __reduce__(self) -> tuple[type, tuple[str, tuple[str, ...], tuple[str, ...]]]:
        return type(self), (self.reason, self.nodes, self.ways)


class NotConvergedError(P0SimError):
    """A solver that stopped before it met its tolerance.

    Attributes
    ----------
    theta : ndarray, shape (2n - 1,)
        Where the solver stopped.
    residual : float
        Largest residual there, in standard deviations of its margin.
    """

    def __init__(self, theta: FloatVector, residual: float) -> None:
        super().__init__(f"the solver stopped with residual {residual:.3g} standard deviations")
        self.theta = theta
        self.residual = residual

    def __reduce__(self) -> tuple[type, tuple[FloatVector, float]]:
        return type(self), (self.theta, self.residual)


def name_some(labels: Sequence[str]) -> str:
    """Labels as one readable phrase, long lists cut short.

    Examples
    --------
    >>> name_some(["ann", "bob"])
    'ann, bob'
    >>> name_some([str(i) for i in range(1, 20)])
    '1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 7 more'
    """
    shown = ", ".join(labels[:LABELS_SHOWN])
    left = len(labels) - LABELS_SHOWN
    return f"{shown} and {left} more" if left > 0 else shown
