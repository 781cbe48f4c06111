"""The names people rely on, and what importing costs."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import pytest

import p0sim as p0

PROMISED = {
    "P0Model", "linear_design", "BiDegree", "bidegree", "Network", "as_network", "read_network",
    "load_network", "simulate_release", "existence", "fit", "P0Results", "Study", "StudyResults",
    "open_study", "summarise", "P0SimError", "NoEstimateError", "NotConvergedError",
}  # fmt: skip


def test_promised_names_are_public():
    assert set(p0.__all__) >= PROMISED
    assert p0.__version__


@pytest.mark.parametrize("name", sorted(set(p0.__all__)))
def test_every_public_name_can_be_had_and_is_documented(name):
    value = getattr(p0, name)
    assert name == "__version__" or inspect.getdoc(value)


def test_every_public_name_is_listed():
    assert set(dir(p0)) >= set(p0.__all__)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        _ = p0.fitt


def test_errors_share_one_parent():
    """Wrong values are ValueErrors too; outcomes of honest data are not."""
    for name in (n for n in p0.__all__ if n.endswith("Error")):
        assert issubclass(getattr(p0, name), p0.P0SimError)
    assert issubclass(p0.InvalidNetworkError, ValueError)
    assert not issubclass(p0.NotConvergedError, ValueError)


def test_seeded_functions_take_rng_by_keyword_without_default():
    for function in (
        p0.simulate_release, p0.simulate_edge_flip, p0.P0Model.sample,
        p0.P0Model.sample_bidegree, p0.explore,
    ):  # fmt: skip
        rng = inspect.signature(function).parameters["rng"]
        assert rng.kind is inspect.Parameter.KEYWORD_ONLY
        assert rng.default is inspect.Parameter.empty


def test_simulate_takes_its_one_argument_by_place_too_and_without_default():
    rng = inspect.signature(p0.P0Results.simulate).parameters["rng"]
    assert rng.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert rng.default is inspect.Parameter.empty


def test_importing_is_lazy():
    """`import p0sim` and the command line load neither numpy nor pandas, matplotlib or numba."""
    heavy = "{'numpy', 'pandas', 'matplotlib', 'numba'}"
    code = f"import sys, p0sim, p0sim.cli.main; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_results_that_travel_between_processes_can_be_pickled():
    model = p0.linear_design(n=5, L=0.3, q=3)
    back = pickle.loads(pickle.dumps(model))
    assert (back.alpha == model.alpha).all()
    fit = p0.fit(model.expected_bidegree())
    assert (pickle.loads(pickle.dumps(fit)).theta == fit.theta).all()
