"""Print every direct dependency of the tests pinned to its lower bound in pyproject.toml.

It runs in a bare environment before anything is installed, so the standard library must do.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)(\[(?P<extras>[^]]*)\])?(>=(?P<bound>[0-9.]+))?"
)


def declared(project: dict, extra: str | None = None) -> list[str]:
    """Requirements of the package, or of one extra with those it names in turn."""
    if extra is None:
        return project["dependencies"]
    found = []
    for line in project["optional-dependencies"][extra]:
        match = REQUIREMENT.fullmatch(line)
        if match and match["name"] == project["name"]:
            for inner in match["extras"].split(","):
                found += declared(project, inner.strip())
        else:
            found.append(line)
    return found


def pin(requirement: str) -> str:
    """`numpy>=2.1` as `numpy==2.1`; anything but one plain lower bound is refused."""
    match = REQUIREMENT.fullmatch(requirement)
    if not match or not match["bound"]:
        raise ValueError(f"a dependency must read NAME>=VERSION; got {requirement!r}")
    return f"{match['name']}=={match['bound']}"


def lowest(pyproject: str) -> list[str]:
    """Pins of the package and of its test extra."""
    project = tomllib.loads(pyproject)["project"]
    return sorted({pin(line) for line in declared(project) + declared(project, "test")})


if __name__ == "__main__":
    sys.stdout.write("\n".join(lowest((ROOT / "pyproject.toml").read_text("utf-8"))) + "\n")
