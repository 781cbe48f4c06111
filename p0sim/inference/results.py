"""P0Results: what may be said about a fit, in the manner of R."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from p0sim.arrays import FloatVector, IntMatrix, require_level
from p0sim.estimate.moments import Degrees, MomentFit, as_degrees, fit_moments
from p0sim.inference.contrasts import contrast_weights, expression_list, term_names
from p0sim.inference.covariance import covariance
from p0sim.inference.summary import Summary, summarise_fit
from p0sim.model.edge_sums import log_normalizer_sum
from p0sim.model.p0 import P0Model

if TYPE_CHECKING:
    import pandas as pd


def fit(
    z: Degrees | tuple[ArrayLike, ArrayLike],
    margins: str = "balanced",
    solver: str = "newton",
    q: int | None = None,
    epsilon: float | None = None,
) -> P0Results:
    """Estimate the p0 model from a bi-degree sequence, with or without noise.

    Parameters
    ----------
    z : NoisyBiDegree, BiDegree or (out_degree, in_degree)
        A BiDegree says that there is no noise.
    margins : {"balanced", "drop_last"}
        How unequal totals are made to agree; drop_last reproduces the paper.
    solver : {"newton", "fixed_point"}
    q, epsilon : optional
        With a pair of vectors: weights lie in 0..q-1, and the privacy loss of its discrete Laplace
        noise (None: no noise).

    Returns
    -------
    P0Results

    Raises
    ------
    NoEstimateError
        If the moment equations have no solution; it names the reason and the nodes.
    NotConvergedError
        If the solver stops short of its tolerance.
    P0SimError, TypeError
        If an argument breaks its rule.

    References
    ----------
    .. [1] Wang, Zhang, Luo, Ouyang, Wang, Weighted directed networks with a differentially private
       bi-degree sequence, Comm. Statist. Theory Methods 51(2), 2022: section 3.

    Examples
    --------
    >>> from p0sim.model.bidegree import BiDegree
    >>> results = fit(BiDegree([3, 1, 2], [2, 2, 2], q=3, nodes=["ann", "bob", "cy"]))
    >>> results.contrast("alpha[ann]-alpha[bob]")[["term", "estimate"]].round(6)
                        term  estimate
    0  alpha[ann]-alpha[bob]  2.304179
    """
    return P0Results(fit_moments(as_degrees(z, q, epsilon), margins, solver))


@dataclass(frozen=True, eq=False)
class P0Results:
    """A fit with its uncertainty.

    Attributes
    ----------
    moments : MomentFit
        What the solver found.
    """

    moments: MomentFit

    @property
    def model(self) -> P0Model:
        """The model at the estimate."""
        return self.moments.model

    @property
    def nodes(self) -> tuple[str, ...]:
        """Node labels, in order."""
        return self.model.nodes

    @property
    def alpha(self) -> FloatVector:
        """Out parameters, shape (n,)."""
        return self.model.alpha

    @property
    def beta(self) -> FloatVector:
        """In parameters, shape (n,); the last one is 0."""
        return self.model.beta

    @property
    def theta(self) -> FloatVector:
        """alpha_1..alpha_n, beta_1..beta_{n-1}; shape (2n - 1,)."""
        return self.model.theta

    @property
    def params(self) -> pd.Series[float]:
        """theta with its names alpha[LABEL] and beta[LABEL]."""
        return self._series(self.theta)

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors that know the noise (variance "noise")."""
        return self.std_errors("noise")

    def std_errors(self, variance: str = "noise") -> pd.Series[float]:
        """Standard errors of theta under one of the three variances."""
        return self._series(np.sqrt(covariance(self.moments, variance).diagonal()))

    def cov_params(self, variance: str = "noise") -> pd.DataFrame:
        """Covariance matrix of theta, labelled; variance is "noise", "S" or "exact"."""
        import pandas as pd

        names = term_names(self.nodes)
        return pd.DataFrame(covariance(self.moments, variance).matrix(), names, names)

    def conf_int(self, level: float = 0.95, variance: str = "noise") -> pd.DataFrame:
        """Normal intervals of theta: columns lower and upper, rows as `params`."""
        table = self.tidy(level, variance).set_index("term")
        return table[["lower", "upper"]].rename_axis(None)

    def contrast(
        self,
        expressions: str | Sequence[str],
        level: float = 0.95,
        variance: str = "noise",
    ) -> pd.DataFrame:
        """Estimates and intervals of linear contrasts, one row each.

        Parameters
        ----------
        expressions : str or sequence of str
            Such as "alpha[ann]-alpha[bob]", "alpha[ann]+beta[bob]", "0.5*beta[1]-beta[2]".
        level : float
            Confidence level, strictly between 0 and 1.
        variance : {"noise", "S", "exact"}

        Returns
        -------
        DataFrame
            Columns term, estimate, std_error, statistic, p_value, lower, upper; the test is of 0.

        Raises
        ------
        InvalidParametersError
            If an expression, the level or `variance` breaks its rule.
        """
        terms = expression_list(expressions)
        weights = contrast_weights(terms, self.nodes)
        variances = covariance(self.moments, variance).contrast_variances(weights)
        return _tidy(terms, weights @ self.theta, np.sqrt(variances), level)

    def tidy(self, level: float = 0.95, variance: str = "noise") -> pd.DataFrame:
        """One row a parameter: term, estimate, std_error, statistic, p_value, lower, upper."""
        std_error = np.sqrt(covariance(self.moments, variance).diagonal())
        return _tidy(term_names(self.nodes), self.theta, std_error, level)

    def glance(self) -> pd.DataFrame:
        """One row about the whole fit.

        Returns
        -------
        DataFrame
            n, q, epsilon (missing without noise), margins, solver, converged, n_iter, residual
            (largest, in standard deviations of its margin) and objective, the log-likelihood at
            the treated margins.
        """
        import pandas as pd

        moments, margins = self.moments, self.moments.margins
        linear = margins.rows @ self.alpha + margins.columns @ self.beta
        return pd.DataFrame(
            {
                "n": self.model.n,
                "q": self.model.q,
                "epsilon": np.nan if moments.epsilon is None else moments.epsilon,
                "margins": margins.treatment,
                "solver": moments.solver,
                "converged": True,
                "n_iter": moments.n_iter,
                "residual": moments.residual,
                "objective": linear - log_normalizer_sum(self.alpha, self.beta, self.model.q),
            },
            index=[0],
        )

    def summary(self, level: float = 0.95, variance: str = "noise") -> Summary:
        """A printable account of the fit, like R's summary()."""
        return summarise_fit(self.moments, self.tidy(level, variance), level, variance)

    def simulate(self, *, rng: np.random.Generator) -> IntMatrix:
        """One synthetic network from the fitted model: adjacency of shape (n, n)."""
        return self.model.sample(rng=rng)

    def _series(self, values: FloatVector) -> pd.Series[float]:
        import pandas as pd

        return pd.Series(values, index=term_names(self.nodes))

    def __repr__(self) -> str:
        margins = self.moments.margins.treatment
        return f"P0Results(n={self.model.n}, q={self.model.q}, margins={margins})"


def _tidy(
    terms: Sequence[str], estimate: FloatVector, std_error: NDArray[Any], level: float
) -> pd.DataFrame:
    import pandas as pd

    statistic = estimate / std_error
    half = norm.ppf((1 + require_level(level)) / 2) * std_error
    return pd.DataFrame(
        {
            "term": list(terms),
            "estimate": estimate,
            "std_error": std_error,
            "statistic": statistic,
            "p_value": 2 * norm.sf(np.abs(statistic)),
            "lower": estimate - half,
            "upper": estimate + half,
        }
    )
