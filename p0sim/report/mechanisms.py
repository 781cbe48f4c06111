"""How the data of a study came about, in sentences for a paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from p0sim.columns import FACTORS
from p0sim.report.material import Material
from p0sim.report.quantities import quantities_of
from p0sim.report.selection import factors_of, labelled, levels_of, only_at

TRUTHS = {
    "dataset": "were those fitted to the network {name} that comes with the program",
    "network": "were those fitted to the network in {name}",
    "parameters": "were those in {name}",
}
LINEAR_DESIGN = (
    "followed the linear design of Wang et al. (2022): alpha_i = (n - i) L/(n - 1), "
    "beta_i = alpha_i for i < n, and beta_n = 0"
)


WAYS = {
    "laplace": "the out- and in-degrees plus independent discrete Laplace noise of scale "
    "2(q - 1)/epsilon",
    "edge_flip": "the degrees of a network each of whose weights was kept with probability "
    "(e^epsilon - 1)/(e^epsilon + q - 1) and else drawn anew from 0..q-1",
}


def mechanism_sentences(material: Material) -> tuple[str, ...]:
    """The law of the data, the grid of settings, and what cells share.

    Parameters
    ----------
    material : Material
    """
    grid = factors_sentence(material), fixed_sentence(material)
    if own := own_experiment(material):
        return (f"Each replicate was a call of {own}, which simulates a data set.", *grid)
    return (
        model_sentence(material.identity.get("model", {})),
        *grid,
        sharing_sentence(material.identity),
        noise_sentence(material),
    )


def own_experiment(material: Material) -> str:
    """FILE:FUNCTION of an experiment of the user's own; empty for those of the package."""
    experiment = str(material.identity.get("experiment", ""))
    return experiment if ":" in experiment else ""


def model_sentence(model: Mapping[str, Any]) -> str:
    """The law of a network and where its parameters come from."""
    return (
        "Directed networks on n nodes without loops were drawn from the weighted p0 model (Wang et "
        "al., 2022): the weights of the arcs are independent, and that of the arc from i to j "
        "equals a with probability proportional to exp(a (alpha_i + beta_j)), a = 0, ..., q - 1. "
        f"The parameters {truth_phrase(str(model.get('theta', 'linear')))}."
    )


def truth_phrase(theta: str) -> str:
    """Where the true parameters come from.

    Examples
    --------
    >>> truth_phrase("network:trade.csv")
    'were those fitted to the network in trade.csv'
    """
    kind, _, name = theta.partition(":")
    return TRUTHS[kind].format(name=name) if kind in TRUTHS else LINEAR_DESIGN


def factors_sentence(material: Material) -> str:
    """Factors that vary with their levels, and how many cells they make."""
    cells = material.cells
    levels = {name: levels_of(cells, name) for name in factors_of(cells)}
    moving = [name for name in levels if len(levels[name]) > 1]
    if not moving:
        return "One setting was studied." if len(cells) == 1 else f"{len(cells)} cells."
    grid, many = math.prod(len(levels[name]) for name in moving), len(moving) > 1
    crossed = ", fully crossed" if many else ""
    how = f"{crossed}: {grid} cells" if grid == len(cells) else f": {len(cells)} cells"
    named = [
        f"{labelled(name, material.labels)} ({meaning_of(name, material)}{', '.join(levels[name])})"
        for name in moving
    ]
    holes = "" if grid == len(cells) else f" of the {grid} combinations"
    return f"The factor{'s were' if many else ' was'} {joined(named)}{how}{holes}."


def fixed_sentence(material: Material) -> str:
    """What the grid holds fixed, and what a given network fixes."""
    cells, labels = material.cells, material.labels
    levels = {name: levels_of(cells, name) for name in factors_of(cells)}
    fixed = [
        f"{labelled(name, labels)} = {found[0]}{only_at(name, cells, labels)}"
        for name, found in levels.items()
        if len(found) == 1
    ]
    q = material.identity.get("model", {}).get("q")
    if q and "q" not in levels:
        fixed.append(f"q = {q}")
    return f"Fixed: {', '.join(fixed)}." if fixed else ""


def meaning_of(name: str, material: Material) -> str:
    """What a known factor is in a study; epsilon is that of each list where lists are drawn."""
    of_lists = name == "epsilon" and quantities_of(material.identity)
    return "privacy loss of each list: " if of_lists else meaning_phrase(name)


def meaning_phrase(name: str) -> str:
    """What a known factor is, with a colon; nothing for others."""
    return f"{FACTORS[name].meaning.partition(':')[0]}: " if name in FACTORS else ""


def sharing_sentence(identity: Mapping[str, Any]) -> str:
    """Which cells share their networks."""
    shared = identity.get("share_network_across", [])
    if not shared:
        return "Every cell had networks of its own."
    return (
        f"Cells that differ in {joined(shared)} alone shared their networks, replicate by "
        "replicate, and drew new noise."
    )


def noise_sentence(material: Material) -> str:
    """What was released, and at which price."""
    if "epsilon" not in material.cells:
        return ""
    methods = material.identity["methods"].values()
    private = [spec for spec in methods if spec.get("release", True)]
    ways = dict.fromkeys(WAYS[spec.get("mechanism", "laplace")] for spec in private)
    protects = "protects the weight of any one arc with privacy loss epsilon"
    several = f"each of which {protects}" if len(ways) > 1 else f"which {protects}"
    return (
        f"Private methods saw {', or '.join(ways)}, {several}; the randomness of a simulation "
        "comes from a seeded generator."
        if ways
        else ""
    )


def joined(parts: Sequence[str]) -> str:
    """Parts as one phrase.

    Examples
    --------
    >>> joined(["n", "q", "L"]), joined(["n"])
    ('n, q and L', 'n')
    """
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
