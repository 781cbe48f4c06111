"""Scores and ordered lists written out by their definitions, on all graphs with a few nodes."""

from __future__ import annotations

import itertools
import math

import numpy as np

SENSITIVITY = {"CN": 1.0, "JC": 1.0, "AA": 1 / math.log(2)}


def pairs(n: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(n), 2))


def all_neighbourhoods(n: int) -> list[tuple[int, ...]]:
    """All sets of neighbours that node 0 can have."""
    return [c for d in range(n) for c in itertools.combinations(range(1, n), d)]


def graphs_with(n: int, neighbours: tuple[int, ...]) -> list[list[set[int]]]:
    """All graphs in which node 0 has these neighbours, as lists of neighbour sets.

    Graph number g holds the k-th pair of the nodes 1..n-1 where bit k of g is 1, so two graphs are
    one edge apart where their numbers differ in one bit.
    """
    others = [pair for pair in pairs(n) if 0 not in pair]
    return [
        neighbour_sets(
            n,
            [(0, v) for v in neighbours] + [e for k, e in enumerate(others) if number >> k & 1],
        )
        for number in range(2 ** len(others))
    ]


def neighbour_sets(n: int, edges: list[tuple[int, int]]) -> list[set[int]]:
    joined: list[set[int]] = [set() for _ in range(n)]
    for a, b in edges:
        joined[a].add(b)
        joined[b].add(a)
    return joined


def score(protocol: str, joined: list[set[int]], v: int) -> float:
    """Score of the pair (0, v)."""
    common, either = joined[0] & joined[v], joined[0] | joined[v]
    if protocol == "CN":
        return float(len(common))
    if protocol == "JC":
        return len(common) / len(either) if either else 0.0
    return math.fsum(1 / math.log(len(joined[w])) for w in common)


def score_table(protocol: str, n: int, neighbours: tuple[int, ...]) -> np.ndarray:
    """Scores of the candidates, a row for each graph of graphs_with."""
    candidates = [v for v in range(1, n) if v not in neighbours]
    return np.array(
        [[score(protocol, g, v) for v in candidates] for g in graphs_with(n, neighbours)]
    )


def list_law(weights: np.ndarray, k: int) -> np.ndarray:
    """Probability of each ordered list, in the order of itertools.permutations; a row a graph.

    By the definition: the first in proportion to the weights, the next among those left.
    """
    weights = np.atleast_2d(weights)
    columns = []
    for chosen in itertools.permutations(range(weights.shape[1]), k):
        left, chance = list(range(weights.shape[1])), np.ones(len(weights))
        for v in chosen:
            chance = chance * weights[:, v] / weights[:, left].sum(axis=1)
            left.remove(v)
        columns.append(chance)
    return np.column_stack(columns)


def largest_log_ratio(law: np.ndarray) -> float:
    """Of rows whose numbers differ in one bit: graphs one edge apart."""
    logs, numbers = np.log(law), np.arange(len(law))
    bits = [2**k for k in range(int(math.log2(len(law))))]
    return max(np.abs(logs - logs[numbers ^ bit]).max() for bit in bits)


def largest_changes(scores: np.ndarray) -> tuple[float, float, float]:
    """Of one score, of all scores in sum, and in the Euclidean norm, over graphs one edge apart."""
    numbers = np.arange(len(scores))
    bits = [2**k for k in range(int(math.log2(len(scores))))]
    moved = np.concatenate([np.abs(scores - scores[numbers ^ bit]) for bit in bits])
    return moved.max(), moved.sum(axis=1).max(), np.sqrt((moved**2).sum(axis=1)).max()


def places(lists: np.ndarray, m: int) -> np.ndarray:
    """How often each ordered list was drawn, in the order of list_law."""
    known = {c: i for i, c in enumerate(itertools.permutations(range(m), lists.shape[1]))}
    drawn = [known[tuple(row)] for row in lists.tolist()]
    return np.bincount(drawn, minlength=len(known))
