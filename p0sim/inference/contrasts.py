"""Linear contrasts of parameters, written as people write them: "alpha[ann]-alpha[bob]".

xi_ij, zeta_ij and eta_ij of the paper are the standardised alpha_i - alpha_j, alpha_i + beta_j and
beta_i - beta_j; any other weighted sum of parameters works the same way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from p0sim.arrays import FloatMatrix, FloatVector
from p0sim.errors import InvalidParametersError

# a label may hold any text, brackets too: it ends at a "]" before a sign or the end
TERM = re.compile(
    r"\s*(?P<sign>[+-]?)\s*(?:(?P<factor>\d+(?:\.\d*)?|\.\d+)\s*\*\s*)?"
    r"(?P<name>alpha|beta)\[(?P<label>.+?)\](?=\s*(?:[+-]\s*(?:[\d.]+\s*\*\s*)?(?:alpha|beta)\[|$))"
)
# the same, as far as the name of the parameter; and a name behind the bracket of a label
BEGUN = re.compile(r"\s*[+-]?\s*(?:[\d.]+\s*\*\s*)?([A-Za-z_]\w*)\[")
WITHIN = re.compile(r"\][^\[\]]*?([A-Za-z_]\w*)\[")
PARAMETERS = ("alpha", "beta")


def term_names(nodes: Sequence[str], reference: int | None = None) -> list[str]:
    """Names of theta's entries: alpha[LABEL] of all nodes, beta[LABEL] of all but the reference.

    Parameters
    ----------
    nodes : sequence of str
    reference : int, optional
        Position of the node whose beta is 0 by the model; the last one by default.

    Examples
    --------
    >>> term_names(["a", "b", "c"])
    ['alpha[a]', 'alpha[b]', 'alpha[c]', 'beta[a]', 'beta[b]']
    """
    last = len(nodes) - 1 if reference is None else reference
    free = [*nodes[:last], *nodes[last + 1 :]]
    return [f"alpha[{node}]" for node in nodes] + [f"beta[{node}]" for node in free]


def contrast_weights(
    expressions: Sequence[str], nodes: Sequence[str], reference: int | None = None
) -> FloatMatrix:
    """Weights of contrasts over theta.

    Parameters
    ----------
    expressions : sequence of str
        Sums and differences of alpha[LABEL] and beta[LABEL], each with an optional "2.5*" before
        it. beta of the reference node is 0 by the model and carries no weight.
    nodes : sequence of str
        Labels, in order.
    reference : int, optional
        Position of that node; the last one by default.

    Returns
    -------
    ndarray, shape (len(expressions), 2n - 1)

    Raises
    ------
    InvalidParametersError
        If an expression cannot be read, names an unknown node, or no free parameter is left in it.

    Examples
    --------
    >>> contrast_weights(["alpha[a]-alpha[b]", "alpha[a]+beta[c]"], ["a", "b", "c"])
    array([[ 1., -1.,  0.,  0.,  0.],
           [ 1.,  0.,  0.,  0.,  0.]])
    """
    position = {node: k for k, node in enumerate(nodes)}
    last = len(nodes) - 1 if reference is None else reference
    return np.array([_weights(text, position, len(nodes) + last) for text in expressions])


def expression_list(expressions: str | Sequence[str]) -> list[str]:
    """One contrast or several, as a list without surrounding blanks.

    Examples
    --------
    >>> expression_list(" alpha[1] ")
    ['alpha[1]']
    """
    given = [expressions] if isinstance(expressions, str) else expressions
    if not isinstance(given, Sequence) or not all(isinstance(text, str) for text in given):
        raise TypeError(f"contrast must be text or a list of texts; got {expressions!r}")
    terms = [text.strip() for text in given]
    if not terms:
        raise InvalidParametersError("contrast must name at least one; got []")
    return terms


def _weights(expression: str, position: dict[str, int], left_out: int) -> FloatVector:
    n = len(position)
    weights = np.zeros(2 * n)
    end = 0
    while end < len(expression):
        term = TERM.match(expression, end)
        if term is None or (end > 0 and not term["sign"]) or term["label"] not in position:
            raise _refusal(expression, end, term and term["label"])
        factor = float(term["factor"] or 1) * (-1 if term["sign"] == "-" else 1)
        weights[position[term["label"]] + (n if term["name"] == "beta" else 0)] += factor
        end = term.end()
    weights = np.delete(weights, left_out)
    if not weights.any():
        raise InvalidParametersError(f"contrast must hold a free parameter; got {expression!r}")
    return weights


def _refusal(expression: str, end: int, label: str | None) -> InvalidParametersError:
    """What is wrong with the term that begins at `end`: its parameter, its node, or its shape."""
    begun = BEGUN.match(expression, end)
    # a label with a name after its bracket is the rest of the contrast, taken for one
    within = WITHIN.search(label or "")
    name = within[1] if within else begun[1] if begun else None
    if name is not None and name not in PARAMETERS:
        from p0sim.validation import suggestion

        return InvalidParametersError(
            f"contrast must name parameters alpha or beta; got {name!r} in {expression!r}"
            + suggestion(name, PARAMETERS)
        )
    if label is not None and not within:
        return InvalidParametersError(
            f"contrast must name known nodes; got {label!r} in {expression!r}"
        )
    return InvalidParametersError(
        "contrast must be a sum such as alpha[1]-alpha[2] or 0.5*alpha[1]+beta[2]; "
        f"got {expression!r}"
    )
