"""What a user installs: bounds, pins, citation and the files inside the wheel."""

from __future__ import annotations

import csv
import hashlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import p0sim
from tests.lowest import declared, lowest, pin

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PIN = re.compile(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.]+)")
REQUIREMENTS = [
    Requirement(line)
    for extra in (None, *PROJECT["optional-dependencies"])
    for line in declared(PROJECT, extra)
]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    found = [PIN.fullmatch(line) for line in lines if not line.startswith("#")]
    assert all(found), "constraints.txt may hold name==version lines only"
    return {canonicalize_name(match[1]): match[2] for match in found if match}


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_every_dependency_has_a_lower_bound_that_its_pin_keeps(requirement):
    pin(str(requirement))
    assert pins()[canonicalize_name(requirement.name)] in requirement.specifier


def test_lowest_pins_the_package_and_its_test_extra_through_nested_extras():
    text = """
    [project]
    name = "p0sim"
    dependencies = ["numpy>=2.1"]
    [project.optional-dependencies]
    test = ["p0sim[dask]", "pytest>=8.3"]
    dask = ["dask>=2024.12"]
    """
    assert lowest(text) == ["dask==2024.12", "numpy==2.1", "pytest==8.3"]


@pytest.mark.parametrize("requirement", ["numpy", "numpy>2", "numpy>=2,<3", "numpy==2.1"])
def test_a_dependency_without_one_plain_lower_bound_is_refused(requirement):
    with pytest.raises(ValueError, match="NAME>=VERSION"):
        pin(requirement)


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert p0sim.__version__ == PROJECT["version"]
    assert f"\nversion: {PROJECT['version']}\n" in citation


def test_the_fraternity_file_is_the_one_its_source_entry_describes():
    """Oracle: the stated digest, and margins of the published ratings 1..5 less 57 arcs of 1."""
    data = ROOT / "p0sim" / "datasets"
    entry = tomllib.loads((data / "sources.toml").read_text("utf-8"))["fraternity"]
    content = (data / entry["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    header, *rows = csv.reader(content.decode("ascii").splitlines())
    arcs = {(int(i), int(j)): int(weight) for i, j, weight in rows}
    assert header == ["source", "target", "weight"]
    assert (entry["n"], entry["q"], entry["directed"], len(rows)) == (58, 5, True, 3306)
    assert list(arcs) == list(itertools.permutations(range(1, 59), 2))
    assert set(arcs.values()) == set(range(5))
    out_degree = [sum(w for (i, _), w in arcs.items() if i == k) for k in range(1, 59)]
    in_degree = [sum(w for (_, j), w in arcs.items() if j == k) for k in range(1, 59)]
    assert sum(out_degree) == 9770 - 3306
    assert (min(out_degree), max(out_degree)) == (115 - 57, 259 - 57)
    assert (min(in_degree), max(in_degree)) == (105 - 57, 223 - 57)


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_install_ends_with_what_comes_next():
    told = subprocess.run(
        ["make", "-nB", "--no-print-directory", "install"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "Next: .venv/bin/p0sim --help" in told.stdout.splitlines()[-1]


def copied_to(folder: Path) -> None:
    """What a build needs."""
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "p0sim", folder / "p0sim", ignore=skipped)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package(tmp_path):
    """Oracle: the files in the tree; a copy is built, as building leaves files behind."""
    copied_to(tmp_path)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", "wheels", "."], cwd=tmp_path, check=True, capture_output=True)
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("p0sim/")}
    tree = {str(path.relative_to(ROOT).as_posix()) for path in (ROOT / "p0sim").rglob("*.*")}
    assert held == {name for name in tree if "__pycache__" not in name}


@pytest.mark.slow
@pytest.mark.parametrize("start", ["beside the clone", "elsewhere"])
def test_an_editable_install_is_the_package_wherever_python_starts(tmp_path, start):
    """A clone is a folder p0sim too, which without an __init__.py is a package to whoever looks."""
    clone = tmp_path / "p0sim"
    copied_to(clone)
    build = "from setuptools import build_meta; print(build_meta.build_editable('.'))"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=clone, check=True, capture_output=True, text=True
    )
    zipfile.ZipFile(clone / done.stdout.split()[-1]).extractall(tmp_path / "site")
    (tmp_path / "empty").mkdir()
    look = f"import site; site.addsitedir({str(tmp_path / 'site')!r}); import p0sim; "
    # -S: an installed p0sim would be found as well
    found = subprocess.run(
        [sys.executable, "-S", "-c", look + "print(p0sim.__file__, p0sim.__version__)"],
        cwd=tmp_path if start == "beside the clone" else tmp_path / "empty",
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    told = f"{clone / 'p0sim' / '__init__.py'} {p0sim.__version__}"
    assert found.stdout.strip() == told, found.stderr
