"""The methods paragraph of a study, in ADEMP order, as prose for a paper.

Aims, Data-generating mechanisms, Estimands, Methods, Performance measures: the order of Morris,
White and Crowther (2019), Statistics in Medicine 38:2074-2102.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from p0sim.columns import MEASURES, WHOLE_FIT
from p0sim.errors import name_some
from p0sim.report.lists_text import (
    list_data_sentences,
    list_estimand_sentences,
    list_method_sentences,
)
from p0sim.report.material import Material
from p0sim.report.mechanisms import joined, mechanism_sentences, own_experiment
from p0sim.report.quantities import quantities_of
from p0sim.report.selection import has_means_alone, labelled

MARGINS = {
    "balanced": "out- and in-degrees made to agree in total, each side taking half of the "
    "difference, spread evenly",
    "drop_last": "the last in-degree left out",
}
VARIANCES = {
    "quiet": "standard errors from S",
    "S": "standard errors from S, which leaves the privacy noise out",
    "noise": "standard errors from S plus, in closed form, what the privacy noise adds",
    "exact": "standard errors from the inverse Fisher information itself plus what any privacy "
    "noise adds",
}
OURS = (
    "Moment equations set expected equal to observed degrees. Whether they have a solution was "
    "tested exactly; where they have one, Newton's method found it. S is the closed-form "
    "approximation of the inverse Fisher information of Wang et al. (2022)."
)
# Parts of the names of measures that one phrase speaks of.
TOGETHER = {
    "_diff": "differences of bias, mean squared error, coverage and interval length from the "
    "reference method",
    "normality": "p values of tests of the standardised error for normality (Kolmogorov, "
    "Anderson-Darling, Lilliefors)",
    "coverage_uncond": "coverage over all replicates, failures counted as misses and as hits",
}


@dataclass(frozen=True)
class Paragraph:
    """One part of the methods section.

    Attributes
    ----------
    title : str
        As ADEMP names it.
    sentences : tuple of str
        Plain text.
    """

    title: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentences, one after the other."""
        return " ".join(sentence for sentence in self.sentences if sentence)


def methods_paragraphs(material: Material) -> list[Paragraph]:
    """What was done, in five paragraphs.

    Parameters
    ----------
    material : Material

    Returns
    -------
    list of Paragraph
        Aims, Data-generating mechanisms, Estimands, Methods, Performance measures.
    """
    of_lists = bool(quantities_of(material.identity))
    data, estimands, methods = (
        (list_data_sentences, list_estimand_sentences, list_method_sentences)
        if of_lists
        else (mechanism_sentences, estimand_sentences, method_sentences)
    )
    return [
        Paragraph("Aims", (aims_sentence(material),)),
        Paragraph("Data-generating mechanisms", data(material)),
        Paragraph("Estimands", estimands(material)),
        Paragraph("Methods", methods(material)),
        Paragraph("Performance measures", performance_sentences(material)),
    ]


def aims_sentence(material: Material) -> str:
    """The aims as the study file states them, closed by a full stop."""
    aims = str(material.study.get("study", {}).get("aims", "")).strip()
    if not aims:
        return "The study file states no aims."
    return aims if aims.endswith((".", "!", "?")) else f"{aims}."


def estimand_sentences(material: Material) -> tuple[str, ...]:
    """What was estimated, what it was tested against, what was pooled."""
    own = own_experiment(material)
    named = written_contrasts(material) if not own else estimands_of(material)
    largest = (material.performance["measure"] == "sup_error_median").any()
    pools = material.study.get("measures", {}).get("pool", {})
    nulls = [
        f"{entry['contrast']} = {entry['null']:g}"
        for entry in material.study.get("estimands", {}).get("contrasts", [])
        if isinstance(entry, Mapping) and entry.get("null")
    ]
    return (
        f"The estimand{'s were' if len(named) > 1 else ' was'} {joined(named)}." if named else "",
        "Node numbers count from 1." if named and not own else "",
        "The estimate of all parameters was judged by its largest absolute error, with beta_n = 0 "
        "fixed."
        if largest and not own
        else "",
        f"Null hypotheses other than 0: {', '.join(nulls)}." if nulls else "",
        "".join(f"{name} pools {pattern}. " for name, pattern in pools.items()).strip(),
    )


def written_contrasts(material: Material) -> list[str]:
    """Contrasts as the study file writes them, in n."""
    contrasts = material.identity.get("estimands", {}).get("contrasts", [])
    return [str(entry) for entry in contrasts]


def estimands_of(material: Material) -> list[str]:
    """Estimands that a function of the user's own gave."""
    found = dict.fromkeys(material.performance["estimand"])
    return [name_some([name for name in found if name != WHOLE_FIT])] if found else []


def method_sentences(material: Material) -> tuple[str, ...]:
    """What all methods share, each in a sentence, and whom the others are compared with."""
    methods, labels = material.identity["methods"], material.labels
    ours = any("margins" in spec for spec in methods.values())
    together = (
        "data sets"
        if own_experiment(material)
        else ("networks and, where they are private, the same noise")
    )
    reference = labelled(material.reference or next(iter(methods)), labels)
    paired = (material.performance["measure"] == "bias_diff").any()
    return (
        OURS if ours else "",
        *(method_sentence(labelled(name, labels), spec) for name, spec in methods.items()),
        f"All methods saw the same {together}." if len(methods) > 1 else "",
        f"Methods were compared with {reference} on the replicates where both have an estimate."
        if paired
        else "",
    )


def method_sentence(name: str, spec: Mapping[str, Any]) -> str:
    """What a method does, in words; one of the user's own names its code.

    Examples
    --------
    >>> method_sentence("Mine", {"call": "mine.py:fit", "release": False})
    'Mine: the function mine.py:fit, from noise-free degrees.'
    """
    private, flipped = spec.get("release", True), spec.get("mechanism") == "edge_flip"
    kind = "flipped" if flipped else "noisy"
    degrees = f"{kind if private else 'noise-free'} degrees"
    if "call" in spec:
        return f"{name}: the function {spec['call']}, from {degrees}."
    if "margins" not in spec:
        return f"{name}: as the function that simulates the data computes it."
    solver = "" if spec["solver"] == "newton" else "; solved by the fixed-point iteration"
    if private and flipped:
        said = f"{degrees}, unbiased; {VARIANCES[spec['variance']]}"
    elif private:
        said = f"{degrees}, {MARGINS[spec['margins']]}; {VARIANCES[spec['variance']]}"
    else:
        # the totals of noise-free degrees agree, and noise that is not there adds nothing
        said = f"{degrees}; {VARIANCES['exact' if spec['variance'] == 'exact' else 'quiet']}"
    return f"{name}: {said}{solver}."


def performance_sentences(material: Material) -> tuple[str, ...]:
    """Measures, their Monte Carlo errors, replicates, failures, seed, versions."""
    return (
        measures_sentence(material),
        "Monte Carlo standard errors are those of Morris, White and Crowther (2019), in robust "
        "form after White (2010) for empirical standard errors and their ratios; intervals of "
        "proportions are Clopper-Pearson.",
        replicates_sentence(material),
        "A replicate without an estimate was counted with its reason and never redrawn, so that "
        "measures of the estimates are conditional on the existence of one.",
        f"Random numbers of a replicate depend on the seed, {material.seed}, its cell and its "
        "number alone.",
        f"Computed with {versions_phrase(material.versions)}.",
    )


def measures_sentence(material: Material) -> str:
    """The measures of the frame in words, alike ones together, and the level of the intervals.

    Those that nothing has are left out where no estimate has a truth.
    """
    of_means = has_means_alone(material.performance)
    rows = material.performance
    found = dict.fromkeys((rows[rows["value"].notna()] if of_means else rows)["measure"])
    together = {} if of_means else TOGETHER
    named = dict.fromkeys(
        next((words for part, words in together.items() if part in name), meaning_of(name))
        for name in found
    )
    level = "" if of_means else f" Intervals have nominal level {100 * material.level:g} %."
    return f"Measures: {'; '.join(named)}.{level}"


def meaning_of(measure: str) -> str:
    """A measure in words."""
    return MEASURES[measure].meaning if measure in MEASURES else measure


def replicates_sentence(material: Material) -> str:
    """Replicates a cell, and the rule that stopped them."""
    asked = material.cells["target_reps"]
    count = f"{asked.min()}" if asked.nunique() == 1 else f"{asked.min()} to {asked.max()}"
    stop = material.study.get("measures", {}).get("stop")
    if material.done < material.asked:
        return f"Every cell was to have {count} replicates; {material.done} are there in all."
    if not stop:
        return f"Every cell had {count} replicates."
    return (
        f"Cells had {count} replicates: a cell ended once the Monte Carlo standard error of every "
        f"coverage was at most {stop['coverage_mcse']:g}, whatever the coverage was."
    )


def versions_phrase(versions: Mapping[str, str]) -> str:
    """Names and numbers.

    Examples
    --------
    >>> versions_phrase({"python": "3.11.7", "numpy": "2.4.6"})
    'Python 3.11.7 and numpy 2.4.6'
    """
    names = {"python": "Python", "scipy": "SciPy"}
    return joined([f"{names.get(name, name)} {number}" for name, number in versions.items()])
