"""The house rules of CONTRIBUTING.md, read from the source with ast.

Imports inside functions and under TYPE_CHECKING obey the same arrows. Every rule has a control: a
small source that breaks it and must be flagged.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import p0sim

PACKAGE = Path(__file__).resolve().parents[1] / "p0sim"
GROUND = frozenset(
    {"errors", "arrays", "columns", "durable", "formulas", "replicate", "validation"}
)
MODEL = GROUND | {"model"}
PRIVACY = MODEL | {"privacy"}
ESTIMATE = PRIVACY | {"estimate"}
INFERENCE = ESTIMATE | {"inference"}
EXPERIMENTS = INFERENCE | {"linkpred", "datasets", "experiments"}
STUDIES = EXPERIMENTS | {"engine", "performance", "report", "studies"}
CLI = STUDIES | {"cli", "p0sim"}

# Room -> rooms it may import. "p0sim" is the root with its lazy names, which reach everything.
MAY_IMPORT = {
    **dict.fromkeys(GROUND, GROUND),
    "model": MODEL,
    "privacy": PRIVACY,
    "estimate": ESTIMATE,
    "inference": INFERENCE,
    "linkpred": PRIVACY | {"linkpred"},
    "datasets": MODEL | {"linkpred", "datasets"},
    "engine": GROUND | {"engine"},
    "performance": GROUND | {"performance"},
    "report": GROUND | {"report"},
    "experiments": EXPERIMENTS,
    "studies": STUDIES,
    "cli": CLI,
    "__main__": CLI,
    "p0sim": CLI,
}
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
NEW_STYLE_RANDOM = frozenset(
    {"BitGenerator", "Generator", "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"}
    | {"SeedSequence", "default_rng", "bit_generator"}
)
# The engine runs experiments, which may raise anything; so may a user's Python file on import.
BOUNDARIES = frozenset({"p0sim.engine.worker", "p0sim.experiments.sources"})
BROAD = frozenset({"Exception", "BaseException"})


def room(module: str) -> str:
    """Second part of a dotted name; the root stands for itself."""
    parts = [part for part in module.split(".") if part != "__init__"]
    return parts[1] if len(parts) > 1 else parts[0]


def dotted(node: ast.expr) -> str:
    """`np.random.seed` of an attribute chain; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (head := dotted(node.value)):
        return f"{head}.{node.attr}"
    return ""


def imported(tree: ast.AST, module: str) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything imported, by statement or by import_module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")[: -node.level]
                base = ".".join([*above, base] if base else above)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            name, target = dotted(node.func).rpartition(".")[2], node.args[0]
            if name in {"import_module", "__import__"} and isinstance(target, ast.Constant):
                yield node.lineno, str(target.value)


def target_room(name: str) -> str | None:
    """Room an absolute name leads to, None outside the package.

    `p0sim.fit` is a lazy name of the root, `p0sim.errors` a room; the version is free to all.
    """
    parts = name.split(".")
    if parts[0] != "p0sim" or name == "p0sim.__version__":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in MAY_IMPORT else "p0sim"


def forbidden_arrows(source: str, module: str) -> list[str]:
    here = room(module)
    if here not in MAY_IMPORT:
        return [f"{module}: room {here!r} has no place in MAY_IMPORT"]
    return [
        f"{module}:{line}: {here} may not import {name}"
        for line, name in imported(ast.parse(source), module)
        if (target := target_room(name)) and target not in MAY_IMPORT[here]
    ]


def global_random_calls(source: str, module: str) -> list[str]:
    """Uses of numpy's legacy functions or of the standard library's one shared generator."""
    tree = ast.parse(source)
    known = {"np": "numpy", "numpy": "numpy"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module:
            known |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    names = list(imported(tree, module))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (name := dotted(node)):
            head, _, rest = name.partition(".")
            names.append((node.lineno, f"{known.get(head, head)}.{rest}"))
    return [f"{module}:{line}: {name}" for line, name in names if is_global_random(name)]


def is_global_random(name: str) -> bool:
    parts = name.split(".")
    if parts[:2] == ["numpy", "random"]:
        return len(parts) > 2 and parts[2] not in NEW_STYLE_RANDOM
    return parts[0] == "random" and parts[-1] not in {"SystemRandom", "getstate", "setstate"}


def evaluations(source: str, module: str) -> list[str]:
    return [
        f"{module}:{node.lineno}: {dotted(node.func)}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and dotted(node.func).rpartition(".")[2] in {"eval", "exec"}
        and not dotted(node.func).startswith("self.")
    ]


def broad_handlers(source: str, module: str) -> list[str]:
    """Bare handlers anywhere, `except Exception` outside the places where others' code runs."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler):
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            bare = node.type is None
            broad = any(kind is not None and dotted(kind) in BROAD for kind in caught)
            if bare or (broad and module not in BOUNDARIES):
                found.append(f"{module}:{node.lineno}")
    return found


RULES = (forbidden_arrows, global_random_calls, evaluations, broad_handlers)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("module", MODULES)
def test_every_module_keeps_the_rule(rule, module):
    assert rule(MODULES[module].read_text("utf-8"), module) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("p0sim.errors", "import p0sim.model.p0"),
        ("p0sim.arrays", "from p0sim.model import BiDegree"),
        ("p0sim.model.p0", "from p0sim.privacy.release import release"),
        ("p0sim.model.p0", "from ..privacy import release"),
        ("p0sim.model.__init__", "from ..cli import main"),
        ("p0sim.model.p0", "from p0sim import estimate"),
        ("p0sim.model.p0", "import p0sim as p0"),
        ("p0sim.estimate.moments", "from p0sim import P0Model"),
        ("p0sim.privacy.release", "def f():\n    import p0sim.estimate.moments"),
        ("p0sim.privacy.release", "if TYPE_CHECKING:\n    from p0sim.inference import results"),
        ("p0sim.estimate.moments", "importlib.import_module('p0sim.inference.results')"),
        ("p0sim.estimate.moments", "__import__('p0sim.cli')"),
        ("p0sim.datasets.loader", "import p0sim.privacy"),
        ("p0sim.linkpred.scores", "import p0sim.estimate"),
        ("p0sim.linkpred.graphs", "from p0sim.datasets import load_graph"),
        ("p0sim.linkpred.splits", "from p0sim.engine.streams import Streams"),
        ("p0sim.engine.runner", "import p0sim.model"),
        ("p0sim.engine.runner", "import p0sim.performance"),
        ("p0sim.performance.measures", "from p0sim.engine import store"),
        ("p0sim.report.tables", "from p0sim.inference import results"),
        ("p0sim.experiments.private_p0", "from p0sim.engine.streams import Streams"),
        ("p0sim.studies.study", "from p0sim import cli"),
        ("p0sim.attic", "import math"),
    ],
)
def test_forbidden_arrows_are_flagged(module, source):
    assert forbidden_arrows(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("p0sim.errors", "from p0sim.arrays import FloatVector"),
        ("p0sim.model.p0", "from ..errors import InvalidParametersError"),
        ("p0sim.model.p0", "from .edge_law import edge_mean"),
        ("p0sim.engine.store", "from p0sim import __version__, errors"),
        ("p0sim.engine.runner", "from p0sim.replicate import Outcome\nimport joblib"),
        ("p0sim.experiments.private_p0", "from p0sim.datasets import load_network"),
        ("p0sim.datasets.__init__", "from p0sim.linkpred.graphs import Graph"),
        ("p0sim.linkpred.ranking", "from p0sim.privacy.exact_epsilon import exact_epsilon"),
        ("p0sim.experiments.custom", "import_module(path)"),
        ("p0sim.cli.running", "import p0sim as p0\nfrom p0sim.studies.study import Study"),
        ("p0sim.__init__", "from p0sim.studies.study import Study"),
    ],
)
def test_allowed_arrows_are_not_flagged(module, source):
    assert forbidden_arrows(source, module) == []


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nnp.random.seed(1)",
        "import numpy as xp\nxp.random.normal()",
        "from numpy import random as r\nr.rand(3)",
        "from numpy.random import shuffle",
        "import numpy.random as nr\nnr.RandomState(1)",
        "import random",
        "from random import choice",
    ],
)
def test_global_random_calls_are_flagged(source):
    assert global_random_calls(source, "p0sim.model.sampling")


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nnp.random.default_rng(np.random.SeedSequence(1))",
        "from numpy.random import Generator, Philox",
        "from random import SystemRandom",
        "def f(rng):\n    return rng.random()",
    ],
)
def test_generators_are_not_flagged(source):
    assert global_random_calls(source, "p0sim.model.sampling") == []


@pytest.mark.parametrize("source", ["eval('1')", "exec(text)", "frame.eval('a + b')"])
def test_evaluations_are_flagged(source):
    assert evaluations(source, "p0sim.engine.design")


@pytest.mark.parametrize(
    ("module", "handler"),
    [
        ("p0sim.engine.store", "except Exception:"),
        ("p0sim.engine.runner", "except Exception:"),
        ("p0sim.engine.store", "except (ValueError, BaseException) as problem:"),
        ("p0sim.engine.worker", "except:"),
    ],
)
def test_broad_handlers_are_flagged(module, handler):
    assert broad_handlers(f"try:\n    f()\n{handler}\n    pass", module)


@pytest.mark.parametrize(
    ("module", "handler"),
    [
        ("p0sim.engine.worker", "except Exception as problem:"),
        ("p0sim.cli.app", "except (OSError, P0SimError):"),
    ],
)
def test_narrow_handlers_and_the_worker_boundary_are_not_flagged(module, handler):
    assert broad_handlers(f"try:\n    f()\n{handler}\n    pass", module) == []


def test_no_module_is_a_drawer():
    assert [name for name in MODULES if name.rpartition(".")[2] in {"utils", "util"}] == []


def has_own_docstring(thing: object) -> bool:
    """A dataclass without a docstring gets its signature as one; that does not count."""
    text = inspect.getdoc(thing) or ""
    return bool(text) and not text.startswith(f"{getattr(thing, '__name__', '')}(")


def test_public_names_exist():
    assert p0sim.__all__


@pytest.mark.parametrize("name", getattr(p0sim, "__all__", []))
def test_public_name_resolves_and_has_a_docstring(name):
    assert has_own_docstring(getattr(p0sim, name))


def test_a_signature_made_by_dataclass_is_no_docstring():
    namespace: dict = {}
    exec("import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int", namespace)
    assert not has_own_docstring(namespace["A"])


def test_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = p0sim.no_such_name


def test_importing_the_package_loads_no_room():
    code = "import sys, p0sim; print([m for m in sys.modules if m.startswith('p0sim.')])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
