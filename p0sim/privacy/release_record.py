"""What stands in release.json: everything that is public about a release, and nothing else."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from p0sim import __version__
from p0sim.arrays import MIN_NODES, require_q
from p0sim.errors import InvalidPrivacyError
from p0sim.privacy.exact_epsilon import exact_epsilon
from p0sim.privacy.json_text import read_json
from p0sim.validation import shown

FORMAT = 1
PUBLIC = "n, the node list, q and epsilon"
NOT_COVERED = "a node with all its edges (this is not node privacy); timing is out of scope"
LEDGERS = ("kept by the curator", "none")
KINDS: dict[str, type] = {
    "format": int,
    "mechanism": str,
    "n": int,
    "q": int,
    "epsilon": str,
    "unit_of_privacy": str,
    "public": str,
    "not_covered": str,
    "clip": bool,
    "ledger": str,
    "versions": dict,
}


@dataclass(frozen=True)
class ReleaseRecord:
    """What is public about a release besides its degrees.

    Attributes
    ----------
    mechanism : str
        "discrete_laplace" or "edge_flip".
    n, q : int
        Number of nodes; weights lie in 0..q-1.
    epsilon : str
        Privacy loss as it was asked for.
    law : mapping
        Numbers of the mechanism: sensitivity, scale, lambda and effective_epsilon of the noise;
        keep_probability and effective_epsilon of the flips.
    clip : bool
        Whether weights outside 0..q-1 were to be moved to its ends; how many were is not said.
    ledger : str
        "kept by the curator", or "none" where nobody counts what is spent.
    versions : mapping
        Of p0sim, opendp and python.
    """

    mechanism: str
    n: int
    q: int
    epsilon: str
    law: Mapping[str, Any]
    clip: bool
    ledger: str
    versions: Mapping[str, str]

    @property
    def unit_of_privacy(self) -> str:
        """Who is a neighbour of whom, in words."""
        return f"one edge's weight, anywhere in 0..{self.q - 1}"

    @property
    def statement(self) -> str:
        """What is protected and what is not, in words for those who read the release."""
        return (
            f"Privacy: epsilon = {self.epsilon} for {self.unit_of_privacy}: whatever it is, each\n"
            "outcome of this release had at most exp(epsilon) times the chance that any other\n"
            f"weight of that edge would have given it. Public: {PUBLIC}.\n"
            f"Not covered: {NOT_COVERED}."
        )

    def to_json(self) -> str:
        """The text of release.json."""
        fields = {
            "format": FORMAT,
            "mechanism": self.mechanism,
            "n": self.n,
            "q": self.q,
            "epsilon": self.epsilon,
            **self.law,
            "unit_of_privacy": self.unit_of_privacy,
            "public": PUBLIC,
            "not_covered": NOT_COVERED,
            "clip": self.clip,
            "ledger": self.ledger,
            "versions": dict(self.versions),
        }
        return json.dumps(fields, indent=2) + "\n"


def record_from_json(text: str) -> ReleaseRecord:
    """Read release.json.

    Raises
    ------
    InvalidPrivacyError
        If a key is missing or its value cannot be; the numbers of the law are kept unchecked.
    """
    try:
        fields = read_json(text, "release.json")
    except InvalidPrivacyError:
        raise
    except (ValueError, RecursionError):
        raise InvalidPrivacyError("release.json must be JSON, as it was written") from None
    if not isinstance(fields, dict):
        raise InvalidPrivacyError(f"release.json must hold keys and values; got {shown(fields)}")
    law = {name: fields.pop(name) for name in list(fields) if name not in KINDS}
    _check_fields(fields)
    said = {name: fields[name] for name in ReleaseRecord.__dataclass_fields__ if name in fields}
    record = ReleaseRecord(law=law, **said)
    _check_words(fields, record)
    return record


def versions_in_use() -> dict[str, str]:
    """Versions of what a release is made with."""
    try:
        opendp = version("opendp")
    except PackageNotFoundError:
        opendp = "not installed"
    return {"p0sim": __version__, "opendp": opendp, "python": platform.python_version()}


def _check_fields(fields: Mapping[str, Any]) -> None:
    for name, kind in KINDS.items():
        if name not in fields:
            raise InvalidPrivacyError(f"release.json needs the key {name!r}")
        if type(fields[name]) is not kind:
            raise InvalidPrivacyError(
                f"{name} in release.json must be of the kind {kind.__name__}; "
                f"got {shown(fields[name])}"
            )
    exact_epsilon(fields["epsilon"], "epsilon in release.json")
    require_q(fields["q"], InvalidPrivacyError)
    _require(fields, "format", fields["format"] == FORMAT, f"must be {FORMAT}")
    _require(fields, "n", fields["n"] >= MIN_NODES, f"must be at least {MIN_NODES}")
    _require(fields, "ledger", fields["ledger"] in LEDGERS, f"must be one of {', '.join(LEDGERS)}")
    texts = all(isinstance(text, str) for text in fields["versions"].values())
    _require(fields, "versions", texts, "must be text each")


def _check_words(fields: Mapping[str, Any], record: ReleaseRecord) -> None:
    """Refuse another promise than the one that this mechanism keeps."""
    words = {
        "unit_of_privacy": record.unit_of_privacy,
        "public": PUBLIC,
        "not_covered": NOT_COVERED,
    }
    for name, text in words.items():
        _require(fields, name, fields[name] == text, f"must be {text!r}")


def _require(fields: Mapping[str, Any], name: str, holds: bool, rule: str) -> None:
    if not holds:
        raise InvalidPrivacyError(f"{name} in release.json {rule}; got {shown(fields[name])}")
