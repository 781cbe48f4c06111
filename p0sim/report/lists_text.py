"""Methods section of studies with ordered lists: link prediction and the latent space graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from p0sim.report.material import Material
from p0sim.report.mechanisms import factors_sentence, fixed_sentence, joined
from p0sim.report.quantities import quantities_of
from p0sim.report.selection import labelled, levels_of

SOURCE = "De and Chakrabarti (2019)"
PROTOCOLS = {
    "CN": "CN, the number of common neighbours",
    "AA": "AA (Adamic-Adar), the sum of 1/log(degree) over the common neighbours",
    "JC": "JC (Jaccard), the common neighbours over all neighbours of either",
    "CRW": "CRW, the superposed random walk",
    "KATZ": "katz, the sum over all walks, damped by their length",
}
MECHANISMS = {
    "dplp": f"DPLP, Algorithm 1 of {SOURCE}: candidates drawn one after another without "
    "replacement with probabilities proportional to (s + D + 1)^sigma, s the score and D its "
    "sensitivity",
    "laplace": "Laplace noise added to every score, the k largest taken",
    "gaussian": "Gaussian noise added to every score by the analytic calibration of Balle and Wang "
    "(2018), the k largest taken; (epsilon, delta)-private with delta = {delta:g}",
    "exponential": "candidates drawn one after another without replacement with probabilities "
    "proportional to exp(eta s)",
    "uniform": "a uniform draw that does not look at the scores, for comparison",
    "none": "the k largest scores, ties in random order, without noise and not private",
}
# of the mechanisms whose calibration is a choice
OF_DRAWS = {
    "dplp": {
        "paper": "sigma from Theorem 2 of the source, epsilon = 2 k sigma log(1 + D)",
        "sharp": "sigma from epsilon = k sigma log((2D + 1)/(D + 1)) for CN, JC and AA, twice that "
        "for other scores unless they are declared to move one way: no score is negative, and one "
        "edge moves all scores of CN or JC the same way, while for AA a rise and the falls beside "
        "it cost no more than one change by D",
        "exact": "sigma from the largest log ratio there is for CN, given degree and number of "
        "candidates of the query node",
    },
    "exponential": {
        "paper": "eta from epsilon = 2 k eta D",
        "sharp": "eta from epsilon = k eta D for CN, JC and AA, twice that for other scores unless "
        "they are declared to move one way",
        "exact": "eta from the largest log ratio there is for CN",
    },
}
PROTECTED = (
    "Privacy losses are those of one edge that is not at the query node: two graphs are neighbours "
    "if they differ in one such edge.",
    "Not protected are the edges at the query node, for nobody is recommended who is joined to it; "
    "lists for several nodes published together and repeated lists, whose losses add up; names of "
    "nodes; the held-out edges and tables like those of this study. Lists here come from a seeded "
    "generator, which protects nobody.",
)
# What a cell or a method may choose, and what holds where neither does.
DEFAULTS = {"mechanism": "dplp", "calibration": "sharp"}


def list_data_sentences(material: Material) -> tuple[str, ...]:
    """Graphs, splits and scores, the grid of settings, and what cells share.

    Parameters
    ----------
    material : Material
        Of an experiment with lists.
    """
    model = material.identity["model"]
    of_graphs = "dataset" in material.cells
    return (
        *(split_sentences(material, model) if of_graphs else latent_sentences(model)),
        scores_sentence(material),
        factors_sentence(material),
        fixed_sentence(material),
    )


def split_sentences(material: Material, model: Mapping[str, Any]) -> tuple[str, ...]:
    """Where graphs come from, what is held out, what is shared."""
    share = 100 * model["share"]
    return (
        f"{graphs_phrase(levels_of(material.cells, 'dataset'), model.get('graphs', {}))}, split at "
        "random.",
        "Query nodes are those in at least one triangle of the full graph. For each of them "
        f"{share:g} % of its neighbours and {share:g} % of its non-neighbours, rounded down, were "
        "held out: they are its candidates, and those that were neighbours are relevant.",
        "The training graph of a replicate is the full graph without any held-out edge; all scores "
        "come from it alone.",
        "Cells with the same graph saw the same splits, replicate by replicate.",
    )


def graphs_phrase(names: Sequence[str], files: Mapping[str, Mapping[str, Any]]) -> str:
    """The graphs, those of the package and those from files.

    Examples
    --------
    >>> graphs_phrase(["yeast", "mine"], {"mine": {"file": "mine.csv"}})
    'Data were the undirected graphs yeast of Table 2 of De and Chakrabarti (2019), which comes \
with the program, and mine, read from mine.csv'
    """
    ours = [name for name in names if name not in files]
    parts = [f"{joined(ours)} of Table 2 of {SOURCE}, which come with the program"] if ours else []
    parts += [f"{name}, read from {files[name]['file']}" for name in names if name in files]
    several = "graphs" if len(names) > 1 else "graph"
    data = "were" if len(names) > 1 else "was"
    phrase = f"Data {data} the undirected {several} {', and '.join(parts)}"
    return phrase.replace("which come with", "which comes with") if len(ours) == 1 else phrase


def latent_sentences(model: Mapping[str, Any]) -> tuple[str, ...]:
    """The latent space graph and its query nodes."""
    return (
        f"Graphs followed the latent space model (Section 4 of {SOURCE}): n points uniform in the "
        f"ball of unit volume in {model['dimension']} dimensions, an edge between any two less "
        f"than {model['radius']:g} apart.",
        f"Lists were drawn for {model['queries']} nodes of each graph, all non-neighbours of a "
        "node being its candidates.",
        "Cells with the same n saw the same graphs, replicate by replicate.",
    )


def scores_sentence(material: Material) -> str:
    """The scores by which lists are made, and those of which no sensitivity is proved."""
    names = levels_of(material.cells, "protocol") if "protocol" in material.cells else ["CN"]
    own = material.identity["model"].get("protocols", {})
    said = [
        own_score(name, own[name]) if name in own else PROTOCOLS.get(name.upper(), name)
        for name in names
    ]
    return f"Candidates were scored by {'; '.join(said)}."


def own_score(name: str, spec: Mapping[str, Any]) -> str:
    """A score that the study file defines.

    Examples
    --------
    >>> own_score("mine", {"score": "mine.py:score", "sensitivity": 2.0})
    'mine, the function mine.py:score with a declared sensitivity of 2 that nobody has checked'
    """
    if spec.get("score"):
        declared = spec.get("sensitivity")
        known = (
            f"a declared sensitivity of {declared:g} that nobody has checked" if declared else ""
        )
        return f"{name}, the function {spec['score']} with {known or 'no declared sensitivity'}"
    source = f"the vectors in {spec['vectors']}" if spec.get("vectors") else "Node2Vec"
    return (
        f"{name}, a logistic regression on products of node vectors ({source}), of which no "
        "sensitivity is proved"
    )


def list_estimand_sentences(material: Material) -> tuple[str, ...]:
    """What was measured, with the words tables use; none of it has a true value."""
    found = set(material.performance["estimand"])
    draws = material.identity["model"]["draws"]
    said = [
        f"{each.label} ({each.name}): {each.meaning}"
        for each in quantities_of(material.identity)
        if each.name in found
    ]
    mean = (
        f"Each is a mean over {draws} draws of every list" if draws > 1 else "Lists were drawn once"
    )
    return (
        f"{'; '.join(said)}.",
        f"{mean}. None has a true value: they are compared between methods, not with a truth.",
    )


def list_method_sentences(material: Material) -> tuple[str, ...]:
    """How each method draws, what its epsilon counts, and what it does not."""
    labels, methods = material.labels, material.identity["methods"]
    data = "splits" if "dataset" in material.cells else "graphs"
    return (
        "Every method gives each query node an ordered list of k candidates, of all where there "
        "are fewer.",
        *factor_sentences(material),
        *one_by_one(material),
        *PROTECTED,
        f"All methods saw the same {data}." if len(methods) > 1 else "",
        f"Methods were compared with {labelled(material.reference, labels)} replicate by replicate."
        if material.reference and len(methods) > 1
        else "",
    )


def one_by_one(material: Material) -> list[str]:
    """A sentence a method; what was said of a mechanism is not said again."""
    methods, said, seen = material.identity["methods"], [], set[str]()
    for name, written in methods.items():
        spec = {**written, **settled(written, material)}
        mechanism = spec.get("mechanism")
        again = "drawn in the same way" if mechanism in seen else ""
        said.append(
            list_method_sentence(
                labelled(name, material.labels), spec, material.identity["model"], again
            )
        )
        seen.update([mechanism] if mechanism else [])
    return said


def settled(spec: Mapping[str, Any], material: Material) -> dict[str, str]:
    """Mechanism and calibration of a method where the cells leave no choice."""
    levels = {name: levels_of(material.cells, name) for name in DEFAULTS if name in material.cells}
    choices = {name: levels.get(name, [default]) for name, default in DEFAULTS.items()}
    return {
        name: found[0] for name, found in choices.items() if not spec.get(name) and len(found) == 1
    }


def factor_sentences(material: Material) -> list[str]:
    """Mechanisms and calibrations where cells have several; else methods tell of them."""
    cells, model = material.cells, material.identity["model"]
    mechanisms, calibrations = (
        levels_of(cells, name) if name in cells else [default] for name, default in DEFAULTS.items()
    )
    if len(mechanisms) == len(calibrations) == 1:
        return []
    said = [f"Mechanism {name}: {MECHANISMS[name].format(**model)}." for name in mechanisms]
    for calibration in calibrations:
        told = [OF_DRAWS[name][calibration] for name in mechanisms if name in OF_DRAWS]
        said.append(f"Calibration {calibration}: {'; '.join(told)}." if told else "")
    return said


def list_method_sentence(
    name: str, spec: Mapping[str, Any], model: Mapping[str, Any], again: str = ""
) -> str:
    """How one method draws, in words, or that it does so again.

    Examples
    --------
    >>> spec = {"mechanism": "uniform", "calibration": None, "sensitivity": None}
    >>> list_method_sentence("Uniform draw", spec, {"delta": 1e-5})
    'Uniform draw: a uniform draw that does not look at the scores, for comparison.'
    """
    mechanism, calibration = spec.get("mechanism"), spec.get("calibration")
    drawn = MECHANISMS[mechanism].format(**model) if mechanism else "the mechanism of the cell"
    said = [again or drawn]
    if mechanism in OF_DRAWS:
        said.append(OF_DRAWS[mechanism][calibration or "sharp"])
    elif mechanism in ("laplace", "gaussian"):
        said.append("scaled to what one edge can change in the whole vector of scores")
    elif mechanism is None and calibration:
        said.append(f"calibration {calibration}")
    by_hand = spec.get("sensitivity") or model.get("sensitivity")
    if by_hand and mechanism not in ("uniform", "none"):
        said.append(
            f"sensitivity set to {by_hand:g} by hand, which no proof supports: not private at the "
            "epsilon stated"
        )
    return f"{name}: {'; '.join(said)}."
