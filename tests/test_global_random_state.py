"""No public call reads or touches the global generators of numpy and of the standard library.

Each call is made twice, with the global generators in other states: they must stand where they
stood, and the answers must agree.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import p0sim as p0
from tests.studies.test_study import TEXT

TINY = TEXT.replace("reps = 12", "reps = 2").replace("[12, 16]", "[12]")


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def model() -> p0.P0Model:
    return p0.linear_design(n=12, L=0.5, q=3)


def degrees() -> p0.BiDegree:
    return model().sample_bidegree(rng=rng())


def network() -> np.ndarray:
    return model().sample(rng=rng())


def edges(folder: Path) -> Path:
    (folder / "edges.csv").write_text("source,target,weight\na,b,1\nb,c,2\nc,a,1\n")
    return folder / "edges.csv"


def study(folder: Path) -> p0.Study:
    (folder / "tiny.toml").write_text(TINY)
    return p0.Study.from_toml(folder / "tiny.toml")


def ran(folder: Path, name: str = "results", **options: Any) -> p0.StudyResults:
    options = {"n_jobs": 1, "backend": "threading", "progress": False, **options}
    return study(folder).run(folder / name, **options)


def looked_at(results: p0.StudyResults) -> object:
    page = results.write_report(results.directory / "page")
    return results.estimates, results.performance(), sorted(p.name for p in page.parent.iterdir())


def merged(folder: Path) -> object:
    shards = [ran(folder, str(k), shard=f"{k}/2").directory for k in (1, 2)]
    p0.merge_studies(folder / "merged", shards)
    return p0.open_study(folder / "merged").estimates


def explored() -> pd.DataFrame:
    return p0.explore(p0.as_network(network(), q=3), [4.0], reps=2, rng=rng())


def released(folder: Path) -> p0.Release:
    return p0.release(p0.as_network(network(), q=3), "2", ledger=folder / "ledger")


def written(folder: Path) -> Path:
    released(folder).write(folder / "release")
    return folder / "release"


def square() -> object:
    return p0.as_graph(np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]))


def registered() -> str:
    return p0.register_protocol("ours", lambda graph, queries: np.ones((len(queries), 4))).name


def pairs(folder: Path) -> Path:
    path = folder / "pairs.csv"
    path.write_text("source,target\na,b\nb,c\nc,a\n")
    return path


CALLS: dict[str, Callable[[Path], object]] = {
    "BiDegree": lambda _: p0.BiDegree(np.ones(3), np.ones(3), 2).out_degree,
    "FlippedBiDegree": lambda _: p0.FlippedBiDegree([3, 1, 2], [2, 2, 2], 3, 1).unbiased_margins(),
    "Graph": lambda _: square().degree,
    "Network": lambda _: p0.as_network(network(), q=3).bidegree().in_degree,
    "NoisyBiDegree": lambda _: p0.simulate_release(degrees(), 2, rng=rng()).out_degree,
    "P0Model": lambda _: (network(), model().fisher_information(), model().s_matrix()),
    "P0Results": lambda _: (p0.fit(degrees()).tidy(), p0.fit(degrees()).simulate(rng=rng())),
    "Study": lambda folder: ran(folder).estimates,
    "StudyResults": lambda folder: looked_at(ran(folder)),
    "as_graph": lambda _: square().degree,
    "as_network": lambda _: p0.as_network(network(), q=3).weights.toarray(),
    "bidegree": lambda _: p0.bidegree(network(), q=3).out_degree,
    "denoise": lambda _: p0.denoise(p0.simulate_release(degrees(), 2, rng=rng())).out_degree,
    "describe_graphs": lambda _: p0.describe_graphs(),
    "describe_networks": lambda _: p0.describe_networks(),
    "existence": lambda _: p0.existence(degrees()).exists,
    "explore": lambda _: explored(),
    "extend_study": lambda folder: p0.extend_study(
        ran(folder).directory, reps=3, n_jobs=1, backend="threading", progress=False
    ).estimates,
    "fit": lambda _: p0.fit(p0.simulate_release(degrees(), 20, rng=rng())).params,
    "linear_design": lambda _: model().theta,
    "load_graph": lambda _: p0.load_graph("usair").degree,
    "load_network": lambda _: p0.load_network("fraternity").bidegree().out_degree,
    "merge_studies": merged,
    "open_study": lambda folder: p0.open_study(ran(folder).directory).replicates,
    "plot_degrees": lambda _: p0.plot_degrees(p0.fit(degrees())).get_suptitle(),
    "plot_exploration": lambda _: p0.plot_exploration(explored()).get_suptitle(),
    "plot_intervals": lambda _: p0.plot_intervals(p0.fit(degrees())).get_suptitle(),
    "read_graph": lambda folder: p0.read_graph(pairs(folder)).degree,
    "read_network": lambda folder: p0.read_network(edges(folder), q=3).bidegree().out_degree,
    "Recommendation": lambda _: p0.recommend(square(), "1", k=1, rng=rng()).nodes,
    "Release": lambda folder: released(folder).record,
    "read_degrees": lambda folder: p0.read_degrees(written(folder) / "degrees.csv", 3, "2").n,
    "read_release": lambda folder: p0.read_release(written(folder)).epsilon_text,
    "recommend": lambda _: p0.recommend(square(), "1", k=1, rng=rng()).epsilon_realised,
    "register_protocol": lambda _: registered(),
    "release": lambda folder: released(folder).record,
    "reproduce": lambda folder: p0.reproduce(
        ran(folder).directory, "n=12,L=0,epsilon=2", 1
    ).again["estimates"],
    "simulate_edge_flip": lambda _: p0.simulate_edge_flip(network(), 2, q=3, rng=rng()).out_degree,
    "simulate_release": lambda _: p0.simulate_release(degrees(), 2, rng=rng()).in_degree,
    "summarise": lambda folder: p0.summarise(
        ran(folder).estimates, estimate="estimate", std_error="std_error", true_value="true_value",
        by=["cell", "estimand"], method="method", rep="rep",
    ),
}  # fmt: skip


def global_state() -> str:
    return repr((np.random.get_state(), random.getstate()))  # noqa: NPY002


def called(name: str, folder: Path, seed: int) -> object:
    folder.mkdir()
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    before = global_state()
    answer = CALLS[name](folder)
    assert global_state() == before, "the global state was touched"
    return answer


def same(left: object, right: object) -> bool:
    if isinstance(left, tuple):
        return all(map(same, left, right))
    if isinstance(left, (pd.DataFrame, pd.Series)):
        return left.equals(right)
    return np.array_equal(np.asarray(left), np.asarray(right))


def test_every_public_name_that_does_something_is_called():
    passive = {name for name in p0.__all__ if name.endswith("Error") or name == "__version__"}
    assert set(CALLS) == set(p0.__all__) - passive
    assert all(inspect.getdoc(getattr(p0, name)) for name in CALLS)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_public_call_leaves_the_global_generators_alone(name, tmp_path):
    assert same(called(name, tmp_path / "a", 1), called(name, tmp_path / "b", 2))


@pytest.mark.parametrize("draw", [lambda _: np.random.random(), lambda _: random.random()])  # noqa: NPY002
def test_a_call_that_draws_from_them_is_found_out(draw, tmp_path, monkeypatch):
    """Control of the test above."""
    monkeypatch.setitem(CALLS, "fit", draw)
    with pytest.raises(AssertionError, match="the global state was touched"):
        called("fit", tmp_path / "a", 1)
