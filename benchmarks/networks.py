"""What every contender is given, and the yardstick all are held to, in plain numpy."""

from __future__ import annotations

import numpy as np

ALL_NODES, SOME_NODES = 5000, 64
PAIRS_AT_ONCE = 2**20


def dense_design(n):
    """The paper's linear design with L = log log n: alpha and beta are this one vector."""
    return np.log(np.log(n)) * np.arange(n - 1, -1, -1) / (n - 1)


def moments(x, q):
    """Mean and variance of a weight at log-odds x, elementwise, by the q terms of the law."""
    top = (q - 1) * np.maximum(x, 0)
    total, first, second = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for k in range(q):
        chance = np.exp(k * x - top)
        total += chance
        first += k * chance
        second += k * k * chance
    mean = first / total
    return mean, second / total - mean**2


def binary_network(n, seed):
    """A network of the dense design with q = 2, shape (n, n), drawn row by row."""
    parameters, rng = dense_design(n), np.random.default_rng(seed)
    network = np.empty((n, n), dtype=np.int8)
    for i, alpha in enumerate(parameters):
        network[i] = rng.random(n) * (1 + np.exp(-alpha - parameters)) < 1
        network[i, i] = 0
    return network


def binary_degrees(network):
    """Out-degrees and in-degrees as 64-bit integers."""
    return network.sum(axis=1, dtype=np.int64), network.sum(axis=0, dtype=np.int64)


def large_degrees(n, q, seed):
    """Degrees as the dense design would have them, for n whose n^2 pairs nobody draws.

    Expectation plus a normal error of the right variance, rounded; in-degrees are then shifted to
    the total of the out-degrees. In the design x_ij depends on i + j alone, so the sums over a row
    are differences of cumulative sums: O(n), and independent of the package.
    """
    rng = np.random.default_rng(seed)
    grid = np.log(np.log(n)) * np.arange(2 * n - 1) / (n - 1)
    mean, variance = (_window_sums(values, n) for values in moments(grid, q))
    out_degree, in_degree = (
        np.rint(mean + np.sqrt(variance) * rng.standard_normal(n)).astype(np.int64)
        for _ in range(2)
    )
    whole, rest = divmod(int(out_degree.sum() - in_degree.sum()), n)
    in_degree += whole
    in_degree[rng.permutation(n)[:rest]] += 1
    return out_degree, in_degree


def _window_sums(values, n):
    """Sum of values[k + j] over j < n other than k, for k = n-1..0."""
    before = np.concatenate([[0.0], np.cumsum(values)])
    k = np.arange(n - 1, -1, -1)
    return before[k + n] - before[k] - values[2 * k]


def largest_residual(alpha, beta, q, out_degree, in_degree):
    """Largest |degree - expectation| / sqrt(variance), by direct sums over all pairs of a node.

    Every node up to n = 5000; beyond, both margins of 64 nodes evenly spaced, ends included.
    """
    n = len(alpha)
    nodes = np.arange(n) if n <= ALL_NODES else np.linspace(0, n - 1, SOME_NODES).astype(int)
    height = max(1, PAIRS_AT_ONCE // n)
    blocks = [nodes[k : k + height] for k in range(0, len(nodes), height)]
    return max(
        float(_residuals(own, other, q, degree, block).max())
        for own, other, degree in ((alpha, beta, out_degree), (beta, alpha, in_degree))
        for block in blocks
    )


def _residuals(own, other, q, degree, nodes):
    mean, variance = moments(own[nodes][:, None] + other, q)
    at_itself = np.arange(len(nodes)), nodes
    mean[at_itself] = variance[at_itself] = 0
    return np.abs(degree[nodes] - mean.sum(axis=1)) / np.sqrt(variance.sum(axis=1))
