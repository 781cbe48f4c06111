"""The binary p0 model as a logistic regression with sender and receiver dummies."""

from __future__ import annotations

import numpy as np
import statsmodels.api as sm


def fit_logit(adjacency: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and standard errors of theta, both (2n - 1,), by statsmodels."""
    n = len(adjacency)
    sender, receiver = np.nonzero(~np.eye(n, dtype=bool))
    dummies = np.hstack([np.eye(n)[sender], np.eye(n)[receiver][:, :-1]])
    logit = sm.Logit(adjacency[sender, receiver], dummies)
    found = logit.fit(method="newton", disp=False, maxiter=200, tol=1e-14)
    return np.asarray(found.params), np.asarray(found.bse)
