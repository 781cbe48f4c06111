"""The experiments a study file may name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from p0sim.errors import InvalidStudyError
from p0sim.experiments import latent_space, link_prediction, private_p0
from p0sim.experiments.custom import CustomExperiment
from p0sim.experiments.latent_space import LatentSpace
from p0sim.experiments.link_prediction import LinkPrediction
from p0sim.experiments.private_p0 import PrivateP0
from p0sim.experiments.sections import StopSection
from p0sim.experiments.sources import FORM, is_reference
from p0sim.replicate import Cell, Experiment
from p0sim.validation import suggestion

EXPERIMENTS: Mapping[str, type[PrivateP0] | type[LinkPrediction] | type[LatentSpace]] = (
    MappingProxyType(
        {
            private_p0.NAME: PrivateP0,
            link_prediction.NAME: LinkPrediction,
            latent_space.NAME: LatentSpace,
        }
    )
)


class StudyExperiment(Experiment, Protocol):
    """What a study needs to know of an experiment beyond what the engine does."""

    @property
    def constants(self) -> dict[str, int]:
        """Numbers that formulas may speak of though they are no factors."""
        ...

    @property
    def level(self) -> float:
        """Level of the intervals under study."""
        ...

    @property
    def stop(self) -> StopSection | None:
        """When enough is known of a cell; None to run all replicates."""
        ...

    @property
    def sources(self) -> dict[str, str]:
        """Texts of the Python files the study uses, by the names it writes."""
        ...

    def require(self, cell: Cell) -> None:
        """Raise a P0SimError if the cell cannot run."""
        ...

    def predicted(self, cell: Cell) -> list[tuple[str, str, float]]:
        """Method, estimand and predicted coverage; empty where there is no theory."""
        ...

    def nulls(self, cell: Cell) -> dict[str, float]:
        """What each estimand is tested against; empty where only the replicates know them."""
        ...


def load_experiment(
    reference: str,
    sections: Mapping[str, Any],
    factors: Collection[str],
    folder: Path,
    sources: Mapping[str, str] | None = None,
) -> StudyExperiment:
    """The experiment a study file names, its sections checked.

    Parameters
    ----------
    reference : str
        "private_p0", "link_prediction", "latent_space", or "FILE.py:FUNCTION" for an experiment of
        the user's own.
    sections : mapping
        The tables model, estimands, methods and measures as read.
    factors : collection of str
        Names of the study's factors.
    folder : Path
        Where the study file stands; paths in it are relative to that.
    sources : mapping of str to str, optional
        Stored texts of Python files by name. Where given, none is read from disk.

    Raises
    ------
    InvalidStudyError
        In one line: the section, the key, the rule and the value.

    Examples
    --------
    >>> load_experiment("private-p0", {}, ["n"], Path())
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: [study] experiment must be private_p0, \
link_prediction, latent_space or FILE.py:FUNCTION, for example "my_study.py:replicate"; \
got 'private-p0', did you mean 'private_p0'?
    """
    if is_reference(reference):
        return CustomExperiment.from_sections(sections, factors, folder, reference, sources)
    if reference not in EXPERIMENTS:
        raise InvalidStudyError(
            f"[study] experiment must be {', '.join(EXPERIMENTS)} or {FORM}; "
            f"got {reference!r}{suggestion(reference, EXPERIMENTS)}"
        )
    experiment = EXPERIMENTS[reference]
    return experiment.from_sections(sections, factors, folder, reference, sources)
