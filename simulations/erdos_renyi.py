"""Density of an undirected random graph whose number of edges is released under edge privacy.

An edge more or less changes the number by 1, so Laplace noise of scale 1/epsilon protects it. The
noise has variance 2/epsilon^2: an interval that leaves it out is too short wherever that is not
small beside pairs * p * (1 - p), the variance of the number of edges itself.
"""

from math import sqrt

import p0sim as p0


def replicate(cell, streams):
    """One graph, one release, and its interval with the noise ignored and with it counted."""
    n, p, epsilon = (cell.factors[name] for name in ("n", "p", "epsilon"))
    pairs = n * (n - 1) // 2
    edges = streams.network.binomial(pairs, p)
    density = (edges + streams.noise.laplace(scale=1 / epsilon)) / pairs
    if not 0 < density < 1:
        raise p0.NoEstimateError("the released density lies outside 0..1")
    sampling, noise = density * (1 - density) / pairs, 2 / (epsilon * pairs) ** 2
    variances = {"naive": sampling, "noise_aware": sampling + noise}
    row = {"estimand": "density", "estimate": density, "true_value": p}
    return [row | {"method": name, "std_error": sqrt(v)} for name, v in variances.items()]
