"""alpha_i - alpha_j without solving any equations: a difference of log-odds of out-degrees.

For q = 2 node i sends to a share s_i of the n - 1 others. Were all beta equal, the log-odds of the
expected s_i would be alpha_i + beta, and those of i and j would differ by alpha_i - alpha_j. Where
beta varies, log-odds of a mean probability are nearer to 0 than means of log-odds, so estimates are
biased towards 0: that of alpha_1 - alpha_n by 4 % in large networks of the linear design, L = 2.

Standard error by the delta method: the variance of the noisy out-degree is at most
(n - 1) s (1 - s) plus that of the noise; a unit of s moves its log-odds by 1 / (s (1 - s)); rows i
and j have no arc in common, so their variances add.
"""

import numpy as np

import p0sim as p0


def log_odds(data, rng):
    """Estimate and standard error of each contrast of the study file; rng is not needed."""
    share, estimates = data.out_degree / (data.n - 1), {}
    for i, j in [(1, 2), (1, data.n)]:
        s = share[[i - 1, j - 1]]
        if not np.all((s > 0) & (s < 1)):
            raise p0.NoEstimateError(f"an out-degree of nodes {i}, {j} has no log-odds")
        variance = s * (1 - s) / (data.n - 1) + data.noise_variance / (data.n - 1) ** 2
        std_error = np.sqrt(np.sum(variance / (s * (1 - s)) ** 2))
        estimates[f"alpha[{i}]-alpha[{j}]"] = -np.diff(np.log(s / (1 - s)))[0], std_error
    return estimates
