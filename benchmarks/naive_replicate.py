"""One replicate of the paper's simulation as its reader would write it: numpy, n x n matrices.

Draw a network, add discrete Laplace noise to its degrees, solve the moment equations by the
alternating fixed point, give intervals from S. Nothing is compiled, and nothing is slower than it
need be: one exponential a pair and sum. Nodes are numbered as in the paper: the last has the
smallest parameters, and its in-degree is the one left out.
"""

from __future__ import annotations

import math

import numpy as np

QUANTILE = 1.959963984540054


def mean_matrix(x, q):
    """Expected weight of every ordered pair, with a zero diagonal."""
    power, total, first = np.ones_like(x), np.ones_like(x), np.zeros_like(x)
    odds = np.exp(x)
    for k in range(1, q):
        power *= odds
        total += power
        first += k * power
    mean = first / total
    np.fill_diagonal(mean, 0)
    return mean


def variance_matrix(x, q):
    """Variance of the weight of every ordered pair, with a zero diagonal."""
    weights = np.exp(x * np.arange(q)[:, None, None])
    chances = weights / weights.sum(axis=0)
    first, second = (np.tensordot(np.arange(q) ** m, chances, axes=1) for m in (1, 2))
    variance = second - first**2
    np.fill_diagonal(variance, 0)
    return variance


def draw_network(alpha, beta, q, rng):
    """Weights by inversion of their distribution functions."""
    x = alpha[:, None] + beta
    below = np.cumsum(np.exp(x * np.arange(q)[:, None, None]), axis=0)
    below /= below[-1]
    weights = (rng.random(x.shape) > below[:-1]).sum(axis=0)
    np.fill_diagonal(weights, 0)
    return weights


def add_noise(degrees, q, epsilon, rng):
    """Degrees with discrete Laplace noise, the difference of two geometric numbers."""
    stop = 1 - math.exp(-epsilon / (2 * (q - 1)))
    n = len(degrees)
    return degrees + rng.geometric(stop, n) - rng.geometric(stop, n)


def drop_last(out_degree, in_degree):
    """In-degrees whose last one is what the out-degrees leave for it."""
    treated = in_degree.copy()
    treated[-1] = out_degree.sum() - in_degree[:-1].sum()
    return treated


def fit(out_degree, in_degree, q, tol=1e-6, max_sweeps=10_000):
    """Alternate over all alphas and all betas until none moves by `tol`; None if that never is."""
    alpha, beta = np.zeros(len(out_degree)), np.zeros(len(out_degree))
    for _ in range(max_sweeps):
        new_alpha = alpha + np.log(out_degree / mean_matrix(alpha[:, None] + beta, q).sum(axis=1))
        new_beta = beta + np.log(in_degree / mean_matrix(new_alpha[:, None] + beta, q).sum(axis=0))
        new_alpha, new_beta = new_alpha + new_beta[-1], new_beta - new_beta[-1]
        move = max(np.abs(new_alpha - alpha).max(), np.abs(new_beta - beta).max())
        alpha, beta = new_alpha, new_beta
        if not move < 1e6:
            return None
        if move < tol:
            return alpha, beta
    return None


def contrasts(alpha, beta, q, pairs):
    """alpha_i - alpha_j with its standard error from S, one row a pair."""
    variance = variance_matrix(alpha[:, None] + beta, q).sum(axis=1)
    return [(alpha[i] - alpha[j], math.sqrt(1 / variance[i] + 1 / variance[j])) for i, j in pairs]


def replicate(alpha, beta, q, epsilon, pairs, rng, tol=1e-6):
    """Intervals for contrasts of one private network; None where a degree or the fit fails."""
    network = draw_network(alpha, beta, q, rng)
    out_degree = add_noise(network.sum(axis=1), q, epsilon, rng)
    in_degree = drop_last(out_degree, add_noise(network.sum(axis=0), q, epsilon, rng))
    degrees = np.concatenate([out_degree, in_degree])
    if degrees.min() <= 0 or degrees.max() >= (len(alpha) - 1) * (q - 1):
        return None
    with np.errstate(all="ignore"):
        fitted = fit(out_degree, in_degree, q, tol)
    if fitted is None:
        return None
    rows = contrasts(*fitted, q, pairs)
    return [(value - QUANTILE * error, value + QUANTILE * error) for value, error in rows]
