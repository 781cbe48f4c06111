"""P0Results: what may be said about a fit, in the manner of R."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from p0sim.arrays import FloatMatrix, FloatVector, IntMatrix, require_level
from p0sim.errors import InvalidParametersError
from p0sim.estimate.moments import Degrees, MomentFit, as_degrees, fit_moments
from p0sim.inference.contrasts import contrast_weights, expression_list, term_names
from p0sim.inference.covariance import covariance
from p0sim.inference.summary import Summary, summarise_fit
from p0sim.model.p0 import P0Model

if TYPE_CHECKING:
    import pandas as pd


def fit(
    z: Degrees | tuple[ArrayLike, ArrayLike],
    margins: str = "balanced",
    solver: str = "newton",
    q: int | None = None,
    epsilon: float | None = None,
    boundary: str = "refuse",
    ridge: float | str = 0.0,
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
    boundary : {"refuse", "extend"}
        Where no estimate exists: refuse, or give nodes at the end of their range the parameter
        -inf or inf, fix their arcs at 0 or q-1, and fit the rest. "extend" is for degrees without
        noise, or with little of it. Where noise takes many sparse degrees below 0, those nodes are
        fitted at 0 and all others keep what noise added to them: the fitted network is too heavy
        and intervals cover too little, as the summary then says. Prefer a ridge there; the two
        exclude each other.
    ridge : float or "auto"
        lambda of a penalty lambda/2 (sum_i (alpha_i - mean)^2 + sum_j (beta_j - mean)^2), which
        keeps every parameter finite; "auto" takes it from the spread of the degrees beyond chance
        and noise. Intervals are then about the penalised target. 0: no penalty. The fit keeps the
        released total, so it is the better way on for sparse degrees with noise. Otherwise at least
        1e-7 (q^2-1)/12 and (q-1)/1000 times what a margin lies beyond its range, and at most
        1e9 (q^2-1)/12.

    Returns
    -------
    P0Results

    Raises
    ------
    NoEstimateError
        If the moment equations have no solution; it names the reason and the nodes, and the two
        ways to go on. Also if the extended estimate meets separated blocks, or a ridge a total
        weight at the end of its range.
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

    A node without in-degree has no finite beta:

    >>> silent = BiDegree([2, 1, 3, 2], [0, 4, 2, 2], q=3)
    >>> fit(silent, boundary="extend").forced
    beta[1]   -inf
    dtype: float64
    >>> fit(silent, ridge=0.5).beta.round(3)
    array([-1.279,  0.787,  0.167,  0.   ])
    """
    return P0Results(fit_moments(as_degrees(z, q, epsilon), margins, solver, boundary, ridge))


@dataclass(frozen=True, eq=False)
class P0Results:
    """A fit with its uncertainty.

    Attributes
    ----------
    moments : MomentFit
        What the solver found.

    Notes
    -----
    Parameters that boundary="extend" forced to -inf or inf have no finite interval: std_error,
    statistic and p_value are missing and the interval is (-inf, inf), as no bound is claimed. They
    have no row in cov_params, and a contrast with one is refused. Standard errors of the others
    take it as given who was forced, and that their degrees lost nothing by it: with noise on sparse
    degrees they are too small, and the summary says by how far the total has moved. The beta that
    is 0 by convention, and has no entry, is the last finite one.

    With a ridge, standard errors and intervals are about the penalised target, the parameters that
    the ridge estimate would have without sampling and noise, and not about the true ones.
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
        """In parameters, shape (n,); the last finite one is 0."""
        return self.model.beta

    @property
    def theta(self) -> FloatVector:
        """alpha_1..alpha_n, then beta of all but the one that is 0; shape (2n - 1,)."""
        return self.model.theta

    @property
    def params(self) -> pd.Series[float]:
        """theta with its names alpha[LABEL] and beta[LABEL]."""
        return self._series(self.theta)

    @property
    def forced(self) -> pd.Series[float]:
        """Parameters forced to -inf or inf, with their names; empty where all are finite."""
        import pandas as pd

        values = np.concatenate([self.alpha, self.beta])
        names = [f"{name}[{node}]" for name in ("alpha", "beta") for node in self.nodes]
        series = pd.Series(values, index=names)
        infinite: pd.Series[float] = series[np.isinf(values)]
        return infinite

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors that know the noise (variance "noise")."""
        return self.std_errors("noise")

    def std_errors(self, variance: str = "noise") -> pd.Series[float]:
        """Standard errors of theta under one of the three variances."""
        return self._series(self._all_std_errors(variance))

    def cov_params(self, variance: str = "noise") -> pd.DataFrame:
        """Covariance matrix of finite theta, labelled; variance is "noise", "S" or "exact"."""
        import pandas as pd

        finite = np.isfinite(self.theta)
        names = [name for name, free in zip(self._names(), finite, strict=True) if free]
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
            If an expression, the level or `variance` breaks its rule; if it holds a parameter that
            was forced to -inf or inf, which differs from the others by no finite amount.
        """
        terms = expression_list(expressions)
        weights = contrast_weights(terms, self.nodes, self.model.reference)
        self._refuse_forced(terms, weights)
        finite = np.isfinite(self.theta)
        variances = covariance(self.moments, variance).contrast_variances(weights[:, finite])
        estimates = weights[:, finite] @ self.theta[finite]
        return _tidy(terms, estimates, np.sqrt(variances), level)

    def tidy(self, level: float = 0.95, variance: str = "noise") -> pd.DataFrame:
        """One row a parameter: term, estimate, std_error, statistic, p_value, lower, upper."""
        return _tidy(self._names(), self.theta, self._all_std_errors(variance), level)

    def glance(self) -> pd.DataFrame:
        """One row about the whole fit.

        Returns
        -------
        DataFrame
            n, q, epsilon (missing without noise), margins, solver, converged, n_iter, residual
            (largest, in standard deviations of its margin), objective: what was maximised, the
            log-likelihood at the treated margins less the penalty of a ridge, fixed arcs of
            infinite parameters adding nothing; boundary, n_forced and ridge (0: none).
        """
        import pandas as pd

        moments, margins = self.moments, self.moments.margins
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
                "objective": moments.objective(),
                "boundary": moments.boundary,
                "n_forced": moments.n_forced,
                "ridge": moments.ridge,
            },
            index=[0],
        )

    def summary(self, level: float = 0.95, variance: str = "noise") -> Summary:
        """A printable account of the fit, like R's summary()."""
        return summarise_fit(self.moments, self.tidy(level, variance), level, variance)

    def simulate(self, rng: np.random.Generator) -> IntMatrix:
        """One synthetic network from the fitted model: adjacency of shape (n, n)."""
        return self.model.sample(rng=rng)

    def _series(self, values: FloatVector) -> pd.Series[float]:
        import pandas as pd

        return pd.Series(values, index=self._names())

    def _names(self) -> list[str]:
        return term_names(self.nodes, self.model.reference)

    def _all_std_errors(self, variance: str) -> FloatVector:
        """Of theta; missing for what was forced."""
        std_errors = np.full(len(self.theta), np.nan)
        std_errors[np.isfinite(self.theta)] = np.sqrt(covariance(self.moments, variance).diagonal())
        return std_errors

    def _refuse_forced(self, terms: Sequence[str], weights: FloatMatrix) -> None:
        for term, row in zip(terms, weights, strict=True):
            infinite = np.flatnonzero((row != 0) & ~np.isfinite(self.theta))
            if len(infinite):
                name, value = self._names()[infinite[0]], self.theta[infinite[0]]
                raise InvalidParametersError(
                    f"contrast must hold finite parameters; got {term!r} with {name} forced to "
                    f"{value:g}"
                )

    def __repr__(self) -> str:
        margins = self.moments.margins.treatment
        return f"P0Results(n={self.model.n}, q={self.model.q}, margins={margins})"


def _tidy(
    terms: Sequence[str], estimate: FloatVector, std_error: NDArray[Any], level: float
) -> pd.DataFrame:
    import pandas as pd

    finite = np.isfinite(estimate)
    statistic = np.where(finite, estimate, np.nan) / std_error
    half = norm.ppf((1 + require_level(level)) / 2) * std_error
    return pd.DataFrame(
        {
            "term": list(terms),
            "estimate": estimate,
            "std_error": std_error,
            "statistic": statistic,
            "p_value": 2 * norm.sf(np.abs(statistic)),
            "lower": np.where(finite, estimate - half, -np.inf),
            "upper": np.where(finite, estimate + half, np.inf),
        }
    )
