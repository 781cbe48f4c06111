r"""What the releases of one network have cost: a text file beside it that is only added to.

Each line is a JSON object. A release's line begins with its epsilon and is on disk before any
noise is drawn, so a release that is killed counts as spent. Epsilons are exact fractions and add
up: basic composition. The first line says this; a line with a budget, once set, binds all later
releases, and a second one with another budget is refused when it is read.

The ledger keeps a curator from slips, not from himself. The running total in each line shows a
line that was changed, or taken out from between others. Nothing shows lines that were taken off
the end, a budget line that was, or a ledger that was deleted or written anew as a whole. It stands
beside the one file it is named after: another name, a copy or a hard link of the data has a ledger
of its own, with nothing spent.

A line that a crash cut off counts as spent if its epsilon can be read. If not, nothing more is
released until somebody writes down what was asked, if only as ``{"epsilon": "0.5"``: the draw
comes after the whole line, so no spending is ever lost.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from p0sim.durable import sync_folder
from p0sim.errors import CannotWriteError, InvalidPrivacyError, P0SimError
from p0sim.privacy.exact_epsilon import ExactEpsilon, exact_epsilon, exact_text
from p0sim.privacy.json_text import read_json
from p0sim.validation import shown

SUFFIX = ".ledger"
FORMAT = 1
COMPOSITION = "basic composition: epsilons add up"
SECONDS_TO_WAIT = 60
# Python writes and reads whole numbers of up to 4300 digits
LONGEST_TOTAL_BITS = 10_000
# more than exact_text makes of a budget that was short enough to be given
LONGEST_TEXT_READ = 300
CUT_OFF = re.compile(r'\{"epsilon": "([^"]*)"')


@dataclass(frozen=True)
class Ledger:
    """What a ledger says.

    Attributes
    ----------
    path : Path
    entries : tuple of dict
        One a release or recommendation, oldest first: epsilon, total (both as text), mechanism, n
        and when; a release has q and output too, a recommendation node, k, protocol, calibration
        and, where it has one, delta. A line that was cut off has the first two only.
    budget : Fraction or None
        What all of them together may cost.
    """

    path: Path
    entries: tuple[Mapping[str, Any], ...] = ()
    budget: Fraction | None = None

    @property
    def spent(self) -> Fraction:
        """Sum of the epsilons of all releases, killed ones included."""
        return Fraction(self.entries[-1]["total"]) if self.entries else Fraction(0)

    @property
    def left(self) -> Fraction | None:
        """What the budget still allows; None without budget."""
        return None if self.budget is None else self.budget - self.spent


def ledger_of(network: str | Path) -> Path:
    """The ledger of a network file: beside the file itself, whatever symbolic link led to it.

    Another name, a copy or a hard link of the same data is another file with another ledger.

    Examples
    --------
    >>> ledger_of("friends.csv").name
    'friends.csv.ledger'
    """
    path = Path(network).resolve()
    return path.with_name(path.name + SUFFIX)


def read_ledger(path: str | Path) -> Ledger:
    """Read a ledger; one that is not there yet has no entry.

    Raises
    ------
    InvalidPrivacyError
        If a line cannot be understood, a total does not fit or a second budget is another one than
        the first: spending must not be lost.
    CannotWriteError
        If the folder it would stand in does not exist.
    """
    path = Path(path)
    _require_folder(path)
    try:
        lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidPrivacyError(
            f"ledger must be a readable text file; got {path}: {error}"
        ) from None
    ledger = Ledger(path)
    for number, line in enumerate(lines, start=1):
        # a blank line holds nothing: what a crash cuts off begins with a bracket
        if line.strip():
            ledger = _with_line(ledger, line, f"line {number} of {path}")
    return ledger


def spend(path: str | Path, epsilon: ExactEpsilon, budget: Fraction | None, **facts: Any) -> None:
    """Enter a release before it is drawn.

    Parameters
    ----------
    path : str or Path
        Of the ledger, which is begun if need be.
    epsilon : ExactEpsilon
        What the release costs.
    budget : Fraction or None
        What all releases together may cost; set the first time it is given.
    **facts
        What else the entry says: mechanism, n, and what :class:`Ledger` has for its kind.

    Raises
    ------
    InvalidPrivacyError
        If the budget does not allow it or is another one than before; nothing is entered then.
    CannotWriteError
        If the entry cannot be brought to disk or another process keeps the ledger locked.

    Notes
    -----
    The operating system's lock is held from reading the total until the entry is on disk, so two
    processes never both spend what is left once.
    """
    path = Path(path)
    _require_folder(path)
    with _locked(path):
        ledger = read_ledger(path)
        require_affordable(ledger, epsilon, budget)
        when = datetime.now(UTC).isoformat(timespec="seconds")
        total = exact_text(ledger.spent + epsilon.value)
        entry = {"epsilon": epsilon.text, "total": total, **facts, "when": when}
        _append(path, [*_preamble(ledger, budget), entry])


def require_affordable(ledger: Ledger, epsilon: ExactEpsilon, budget: Fraction | None) -> None:
    """Refuse a release that the budget does not allow.

    Raises
    ------
    InvalidPrivacyError
        If the total would pass the budget or be too long a fraction to write, or `budget` is not
        the one that was set.
    """
    if budget is not None and ledger.budget not in (None, budget):
        raise InvalidPrivacyError(
            f"budget must stay {exact_text(Fraction(ledger.budget or 0))}, as {ledger.path} says; "
            f"got {exact_text(budget)}"
        )
    allowed = ledger.budget if budget is None else budget
    total = ledger.spent + epsilon.value
    _require_writable_total(total, f"{ledger.path}; got {epsilon.text}: take a decimal")
    if allowed is not None and total > allowed:
        raise InvalidPrivacyError(
            f"epsilon must be at most {exact_text(max(allowed - ledger.spent, Fraction(0)))}, what "
            f"is left of the budget {exact_text(allowed)}; got {epsilon.text}"
        )


def require_writable(path: Path) -> None:
    """Refuse a ledger that an entry could not be added to.

    Raises
    ------
    CannotWriteError
        If it, its lock or the folder where they are to stand is read-only for this user.
    """
    _require_folder(path)
    for file in (path, _lock_of(path)):
        needed = file if file.exists() else file.parent
        if not os.access(needed, os.W_OK):
            raise CannotWriteError(
                f"ledger {path} cannot be written: {needed} is read-only; nothing was drawn"
            )


def _with_line(ledger: Ledger, line: str, place: str) -> Ledger:
    fields = _fields(line, place)
    if "epsilon" in fields:
        return _with_entry(ledger, fields, place)
    if "budget" in fields:
        return _with_budget(ledger, _number(fields["budget"], "budget", place), place)
    if fields.get("format") == FORMAT:
        return ledger
    raise InvalidPrivacyError(
        f'{place} is cut off or damaged: write {{"epsilon": "E"}} there, with the epsilon E that '
        "was asked; without it spending could be lost"
    )


def _with_budget(ledger: Ledger, budget: Fraction, place: str) -> Ledger:
    if ledger.budget not in (None, budget):
        raise InvalidPrivacyError(
            f"budget must stay {exact_text(Fraction(ledger.budget or 0))}, as it was first set; "
            f"got {exact_text(budget)} in {place}"
        )
    return Ledger(ledger.path, ledger.entries, budget)


def _with_entry(ledger: Ledger, fields: Mapping[str, Any], place: str) -> Ledger:
    total = ledger.spent + _number(fields["epsilon"], "epsilon", place)
    _require_writable_total(total, f"{place}; got {shown(fields['epsilon'])}")
    # as text: a sum of many fractions is longer than an epsilon may be
    if fields.get("total", exact_text(total)) != exact_text(total):
        raise InvalidPrivacyError(
            f"total must be {exact_text(total)} in {place}; got {shown(fields['total'])}: "
            "a line was changed or taken out"
        )
    _require_delta(fields, place)
    entry = {**fields, "total": exact_text(total)}
    return Ledger(ledger.path, (*ledger.entries, entry), ledger.budget)


def _fields(line: str, place: str) -> Mapping[str, Any]:
    """The object of a line; of one that was cut off, its epsilon if that is whole."""
    try:
        fields = read_json(line, place)
    except InvalidPrivacyError:
        raise
    except (ValueError, RecursionError):
        start = CUT_OFF.match(line)
        return {"epsilon": start[1]} if start else {}
    return fields if isinstance(fields, dict) else {}


def _require_writable_total(total: Fraction, where: str) -> None:
    if total.denominator.bit_length() > LONGEST_TOTAL_BITS:
        raise InvalidPrivacyError(
            "epsilon must leave a total with a denominator of at most "
            f"{LONGEST_TOTAL_BITS} bits in {where}"
        )


def _require_delta(fields: Mapping[str, Any], place: str) -> None:
    delta = fields.get("delta", 0.0)
    if type(delta) not in (int, float) or not 0 <= delta < 1:
        raise InvalidPrivacyError(
            f"delta must be a number from 0 to below 1 in {place}; got {shown(delta)}"
        )


def _number(value: object, name: str, place: str) -> Fraction:
    """A number that stands in a ledger: a budget may be longer there than as it was given."""
    try:
        return exact_epsilon(value, name, LONGEST_TEXT_READ).value
    except (P0SimError, TypeError) as error:
        raise InvalidPrivacyError(f"{error} in {place}") from None


def _preamble(ledger: Ledger, budget: Fraction | None) -> Iterator[Mapping[str, Any]]:
    if not ledger.entries and ledger.budget is None:
        yield {"format": FORMAT, "composition": COMPOSITION}
    if budget is not None and ledger.budget is None:
        yield {"budget": exact_text(budget)}


def _append(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Bring lines to disk, after a line end if the last one has none."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    with path.open("a+b") as file:
        if file.tell() and not _ends_a_line(path):
            text = "\n" + text
        file.write(text.encode("ascii"))
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def _ends_a_line(path: Path) -> bool:
    return path.read_bytes().endswith(b"\n")


def _require_folder(path: Path) -> None:
    # the lock would make it: a new ledger, with nothing spent, where a name was mistyped
    if not path.parent.is_dir():
        raise CannotWriteError(f"ledger must stand in a folder that exists; got {path}")


def _lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    import filelock

    try:
        with filelock.FileLock(_lock_of(path), timeout=SECONDS_TO_WAIT):
            yield
    except filelock.Timeout:
        raise CannotWriteError(f"{path} is in use by another process; try again later") from None
    except P0SimError:
        raise
    except OSError as error:
        raise CannotWriteError(
            f"ledger {path} cannot be written: {error.strerror or error}; nothing was drawn"
        ) from error
