"""What is timed: tasks, their contenders and the sizes they are run at.

A contender is a function of (n, q) that prepares its input and returns `Work`: `one` is timed,
`tell` is asked afterwards, outside the clock, what to write beside the time.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import engine_overhead, naive_replicate, rivals
from benchmarks.networks import (
    binary_degrees,
    binary_network,
    dense_design,
    large_degrees,
    largest_residual,
)

HERE = Path(__file__).parent
COVERAGE = HERE.parent / "simulations" / "coverage.toml"
COVERAGE_CELLS = 54
SEED = 20240501
EPSILON = 2.0


def _nothing(answer: Any) -> dict[str, Any]:
    return {}


class Work(NamedTuple):
    """One contender, ready: its timed call, and what its answer says."""

    one: Callable[[], Any]
    tell: Callable[[Any], dict[str, Any]] = _nothing
    units: int = 1


class Setting(NamedTuple):
    """Nodes, weight levels, threads; 0 where a task has none."""

    n: int = 0
    q: int = 0
    threads: int = 1


Prepare = Callable[[int, int], Work]


@dataclass(frozen=True)
class Task:
    """A row group of the results.

    Attributes
    ----------
    title, unit : str
        What is timed, and a unit of it.
    scale : str
        s, ms, us or ns: how times are printed.
    contenders : mapping of str to function of (n, q)
        The first is what the others are measured against.
    settings, quick : tuple of Setting
        Sizes of a full run, and of one of seconds.
    smoke : mapping of str to function of (n, q)
        Contenders of a quick run, where they differ.
    seconds : float
        A repeat that is shorter than this is a loop.
    clock : str
        "cpu" or "wall": the seconds that are summarised.
    """

    title: str
    unit: str
    scale: str
    contenders: Mapping[str, Prepare]
    settings: tuple[Setting, ...] = (Setting(),)
    quick: tuple[Setting, ...] = (Setting(),)
    smoke: Mapping[str, Prepare] = field(default_factory=dict)
    seconds: float = 0.2
    clock: str = "cpu"

    @property
    def all_contenders(self) -> dict[str, Prepare]:
        """Those of full and of quick runs."""
        return {**self.contenders, **self.smoke}


def our_replicate(n: int, q: int) -> Work:
    """What a study does in one replicate, the engine left out."""
    import p0sim as p0
    from p0sim.replicate import Streams, hash_words

    study = p0.Study.from_toml(HERE / "replicate.toml")
    (cell,) = (c for c in study.cells if (c.factors["n"], c.factors["q"]) == (n, q))
    simulate, key, numbers = study.experiment.prepare(cell), hash_words(cell.id), iter(range(2**62))

    def attempt() -> bool:
        streams = Streams(SEED, key, key, next(numbers))
        return simulate(streams)["paper"]().status == "ok"

    return _until_fitted(attempt)


def naive(n: int, q: int) -> Work:
    """The same by the plain numpy script."""
    parameters, rng = dense_design(n), np.random.default_rng(SEED)
    pairs = [(0, 1), (n // 2 - 1, n // 2), (n - 2, n - 1)]

    def attempt() -> bool:
        drawn = naive_replicate.replicate(parameters, parameters, q, EPSILON, pairs, rng)
        return drawn is not None

    return _until_fitted(attempt)


def _until_fitted(attempt: Callable[[], bool]) -> Work:
    outcomes: list[bool] = []

    def one() -> None:
        fitted = False
        while not fitted:
            fitted = attempt()
            outcomes.append(fitted)

    return Work(one, lambda _: {"fitted_share": sum(outcomes) / len(outcomes)})


def our_fit(n: int, q: int, large: bool = False) -> Work:
    """`fit` on the degrees of a network; large ones are not drawn pair by pair."""
    import p0sim as p0

    degrees = large_degrees(n, q, SEED) if large else binary_degrees(binary_network(n, SEED))
    given = p0.BiDegree(*degrees, q)

    def one() -> tuple[Any, Any]:
        found = p0.fit(given)
        return found.alpha, found.beta

    return Work(one, partial(_residual, q=q, degrees=degrees))


def rival_fit(n: int, q: int, fit: Callable[..., Any], given: str) -> Work:
    """A fit of the same network by another program, from what that takes."""
    network = binary_network(n, SEED)
    degrees = binary_degrees(network)
    inputs = {
        "degrees": lambda: degrees,
        "one vector": lambda: (np.concatenate(degrees),),
        "pairs": lambda: (rivals.pair_frame(network),),
    }[given]()
    return Work(lambda: fit(*inputs), partial(_residual, q=q, degrees=degrees))


def _residual(answer: Any, q: int, degrees: tuple[Any, Any]) -> dict[str, Any]:
    if answer is None:
        return {"status": "did not converge"}
    return {"residual": largest_residual(*answer, q, *degrees)}


def our_sample(n: int, q: int, prepared: bool) -> Work:
    """Degrees of one network, by the model or by its sampler with tables made beforehand."""
    import p0sim as p0

    model, rng = p0.linear_design(n, np.log(np.log(n)), q), np.random.default_rng(SEED)
    if prepared:
        from p0sim.model.sampling import EdgeSampler

        sampler = EdgeSampler(model.alpha, model.beta, q)
        return Work(lambda: sampler.degrees(rng), units=n * (n - 1))
    return Work(lambda: model.sample_bidegree(rng=rng), units=n * (n - 1))


def numpy_sample(n: int, q: int) -> Work:
    """Uniform numbers and their comparison with thresholds made beforehand; nothing is summed."""
    x, rng = np.add.outer(dense_design(n), dense_design(n)), np.random.default_rng(SEED)
    below = np.cumsum(np.exp(x * np.arange(q)[:, None, None]), axis=0)
    thresholds = (below[:-1] / below[-1]).reshape(q - 1, -1)

    def one() -> Any:
        uniform = rng.random(n * n)
        weights = uniform > thresholds[0]
        for threshold in thresholds[1:]:
            weights = weights + (uniform > threshold).view(np.int8)
        return weights

    return Work(one, units=n * (n - 1))


def our_existence(n: int, q: int) -> Work:
    """The exact existence test."""
    import p0sim as p0

    given = p0.BiDegree(*large_degrees(n, q, SEED), q)
    return Work(
        lambda: p0.existence(given),
        lambda found: {} if found.exists else {"status": f"no estimate: {found.reason}"},
    )


def command(n: int, q: int, words: tuple[str, ...], units: int = 1) -> Work:
    """A process from start to end, in an empty folder."""

    def one() -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(words, check=True, capture_output=True, cwd=folder)

    return Work(one, units=units)


def _python(code: str) -> Prepare:
    return partial(command, words=(sys.executable, "-c", code))


def _p0sim(*words: str, units: int = 1) -> Prepare:
    script = str(Path(sysconfig.get_path("scripts")) / "p0sim")
    return partial(command, words=(script, *words), units=units)


def _coverage(reps: int) -> dict[str, Prepare]:
    words = ("run", str(COVERAGE), "--reps", str(reps), "-j", "2", "-o", "results")
    return {f"p0sim run --reps {reps}": _p0sim(*words, units=reps * COVERAGE_CELLS)}


def overhead(n: int, q: int, reps: int) -> Work:
    """The engine's own share of a replicate, by its script."""

    def told(times: tuple[float, float]) -> dict[str, Any]:
        run, own = times
        return {"wall_seconds": run - own, "cpu_seconds": np.nan, "units": 1}

    return Work(lambda: engine_overhead.measure(reps, 2), told)


def _sizes(ns: tuple[int, ...], qs: tuple[int, ...] = (2,)) -> tuple[Setting, ...]:
    return tuple(Setting(n, q, threads=2 if n >= 1_000_000 else 1) for q in qs for n in ns)


TASKS = {
    "replicate": Task(
        "A replicate: dense design, epsilon = 2, drop_last, S intervals",
        "fitted replicate, failed tries included",
        "ms",
        {"p0sim": our_replicate, "numpy script": naive},
        _sizes((100, 200), (3,)),
        _sizes((50,), (3,)),
        seconds=2.0,
    ),
    "fit": Task(
        "A fit: one network of the dense design, no noise",
        "fit",
        "ms",
        {
            "p0sim": our_fit,
            "numpy fixed point": partial(rival_fit, fit=rivals.fixed_point, given="degrees"),
            "numpy dense Newton": partial(rival_fit, fit=rivals.dense_newton, given="degrees"),
            "NEMtropy": partial(rival_fit, fit=rivals.nemtropy, given="one vector"),
            "pyfixest": partial(rival_fit, fit=rivals.pyfixest, given="pairs"),
            "fereg": partial(rival_fit, fit=rivals.fereg, given="pairs"),
        },
        _sizes((100, 1000, 5000)),
        _sizes((50, 100, 200)),
    ),
    "large": Task(
        "A large fit: degrees of the dense design",
        "fit",
        "s",
        {"p0sim": partial(our_fit, large=True)},
        _sizes((10_000, 100_000, 1_000_000), (2, 5)),
        _sizes((300, 600), (2, 5)),
    ),
    "sampling": Task(
        "Sampling: degrees of a network",
        "ordered pair",
        "ns",
        {
            "p0sim, tables made beforehand": partial(our_sample, prepared=True),
            "p0sim": partial(our_sample, prepared=False),
            "numpy uniforms and comparison": numpy_sample,
        },
        _sizes((1000,), (2, 3, 5)),
        _sizes((200,), (2, 3)),
    ),
    "existence": Task(
        "The exact existence test",
        "test",
        "s",
        {"p0sim": our_existence},
        tuple(Setting(1_000_000, q) for q in (2, 5)),
        _sizes((1000,), (2, 5)),
    ),
    "startup": Task(
        "Start-up: a process from start to end",
        "process",
        "ms",
        {
            "import numpy": _python("import numpy"),
            "import numpy, p0sim": _python("import numpy, p0sim"),
            "import p0sim": _python("import p0sim"),
            "bare Python": _python("pass"),
            "p0sim --help": _p0sim("--help"),
        },
        clock="wall",
    ),
    "engine": Task(
        "What the engine adds to a replicate, two workers",
        "replicate and worker",
        "us",
        {"40,000 replicates": partial(overhead, reps=40_000)},
        smoke={"2,000 replicates": partial(overhead, reps=2000)},
        clock="wall",
    ),
    "study": Task(
        "A study: simulations/coverage.toml, three methods, two workers, table and report",
        "replicate of a cell",
        "ms",
        _coverage(20),
        smoke=_coverage(2),
        clock="wall",
    ),
}
