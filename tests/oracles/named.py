"""Whether a test of some name stands in some file: for lists that say which test holds a rule."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def is_a_test(name: str) -> bool:
    """A name such as ``model/test_arcs.py::test_that_something_holds``, from the tests' folder."""
    path, _, test = name.partition("::")
    tree = ast.parse((TESTS / path).read_text("utf-8"))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return test.startswith("test_") and test in functions
