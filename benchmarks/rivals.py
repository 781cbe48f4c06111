"""Fits of the binary model by other means; each gives alpha and beta with beta[-1] = 0.

Every package is called as its documentation shows, at its default tolerances. Of NEMtropy's
starting values the fastest in our trials is taken. A package that is not installed raises
ImportError, and the tables say so.
"""

from __future__ import annotations

import numpy as np

from benchmarks.naive_replicate import fit
from benchmarks.networks import moments


def fixed_point(out_degree, in_degree):
    """The paper's own iteration, in numpy."""
    return fit(out_degree, in_degree, 2)


def dense_newton(out_degree, in_degree, tol=1e-9, max_steps=50):
    """Newton's method with the full matrix of second derivatives, the last beta held at 0."""
    n = len(out_degree)
    theta = np.zeros(2 * n - 1)
    for _ in range(max_steps):
        alpha, beta = theta[:n], np.append(theta[n:], 0.0)
        mean, variance = moments(alpha[:, None] + beta, 2)
        np.fill_diagonal(mean, 0)
        np.fill_diagonal(variance, 0)
        sums, slopes = (np.r_[m.sum(axis=1), m.sum(axis=0)[:-1]] for m in (mean, variance))
        residual = np.r_[out_degree, in_degree[:-1]] - sums
        if (np.abs(residual) < tol * np.sqrt(slopes)).all():
            break
        fisher = np.diag(slopes)
        fisher[:n, n:], fisher[n:, :n] = variance[:, :-1], variance[:, :-1].T
        theta = theta + np.linalg.solve(fisher, residual)
    return alpha, beta


def nemtropy(degrees):
    """NEMtropy's directed configuration model by its quasi-Newton method.

    Parameters
    ----------
    degrees : ndarray, shape (2n,)
        Out-degrees, then in-degrees.
    """
    from NEMtropy import DirectedGraph

    graph = DirectedGraph(degree_sequence=degrees)
    graph.solve_tool(model="dcm_exp", method="quasinewton", initial_guess="degrees_minor")
    return _last_at_zero(np.log(graph.x), np.log(graph.y))


def pyfixest(frame):
    """Logit with sender and receiver effects by pyfixest; see `pair_frame` for the frame.

    Its `fixef()` answers on the scale of the response where there are no other regressors (an open
    issue of version 0.60), so the effects are read off the fitted log-odds.
    """
    from pyfixest import feglm

    model = feglm("weight ~ 1 | sender + receiver", frame, family="logit", vcov="iid")
    return read_effects(frame, model.predict(type="link"))


def fereg(frame):
    """The same by fereg, one thread."""
    from fereg import feglm

    formula = "weight ~ 1 | sender + receiver"
    model = feglm(formula, frame, family="logit", vcov="iid", nthreads=1)
    return read_effects(frame, model.predict(type="link"))


def pair_frame(network):
    """One row an ordered pair: sender, receiver, weight."""
    import pandas as pd

    sender, receiver = np.nonzero(~np.eye(len(network), dtype=bool))
    weight = network[sender, receiver].astype(np.float64)
    return pd.DataFrame({"weight": weight, "sender": sender, "receiver": receiver})


def read_effects(frame, log_odds):
    """alpha and beta of additive log-odds: the least-squares solution without the diagonal."""
    rows = np.bincount(frame["sender"], log_odds)
    columns = np.bincount(frame["receiver"], log_odds)
    others = len(rows) - 1
    columns = columns - rows.sum() / others
    scale = others**2 - 1
    return _last_at_zero((others * rows + columns) / scale, (others * columns + rows) / scale)


def _last_at_zero(alpha, beta):
    return alpha + beta[-1], beta - beta[-1]
