"""What was spent: exact sums, budgets, crashes in mid-line, and processes that race.

Expected totals are worked out by hand in fractions.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from fractions import Fraction
from functools import partial

import filelock
import pytest

from p0sim.errors import CannotWriteError, InvalidPrivacyError
from p0sim.privacy import ledger as module
from p0sim.privacy.exact_epsilon import exact_epsilon
from p0sim.privacy.ledger import (
    ledger_of,
    read_ledger,
    require_affordable,
    require_writable,
    spend,
)
from tests.oracles.refusals import refusal

FACTS = {"mechanism": "discrete_laplace", "q": 3, "n": 4, "output": "out"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "friends.csv.ledger"


def enter(path, epsilon: str, budget: str | None = None) -> None:
    spend(path, exact_epsilon(epsilon), budget and Fraction(budget), **FACTS)


def test_decimal_epsilons_add_up_exactly(path):
    """0.2 + 0.3 + 0.5 is 1, which fits a budget of 1; as floats 0.1 + 0.2 would not be 0.3."""
    for epsilon in ("0.2", "0.3", "0.5"):
        enter(path, epsilon, "1")
    assert read_ledger(path).spent == 1
    assert read_ledger(path).left == 0


def test_thirds_add_up_exactly(path):
    for _ in range(3):
        enter(path, "1/3", "1")
    assert read_ledger(path).spent == 1


def test_totals_may_be_longer_than_any_epsilon(path):
    """50-digit denominators without a common factor: their sum has more digits than one epsilon."""
    asked = [f"1{'0' * 44}{k}/{10**49 + k}" for k in (9, 57, 99)]
    for epsilon in asked:
        enter(path, epsilon)
    assert read_ledger(path).spent == sum(map(Fraction, asked))
    assert len(read_ledger(path).entries[-1]["total"]) > 200


def test_a_total_that_could_not_be_read_back_is_refused_before_it_is_entered(path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_TOTAL_BITS", 10)
    enter(path, "1/31")
    before = path.read_bytes()
    refusal(partial(enter, path, "1/37"), "at most 10 bits", "got 1/37: take a decimal")
    assert path.read_bytes() == before
    enter(path, "1/31")


def test_over_budget_is_refused_and_nothing_entered(path):
    enter(path, "0.7", "1")
    before = path.read_bytes()
    refusal(partial(enter, path, "0.30001"), "epsilon must be at most 0.3", "budget 1", "0.30001")
    assert path.read_bytes() == before
    enter(path, "0.3")
    refusal(partial(enter, path, "0.000001"), "at most 0,")


def test_an_entry_says_what_was_done(path):
    enter(path, "1/2")
    (entry,) = read_ledger(path).entries
    when = entry["when"]
    assert entry == {"epsilon": "1/2", "total": "0.5", **FACTS, "when": when}
    assert when.endswith("+00:00")


def test_it_is_json_lines_that_name_the_composition_and_are_only_added_to(path):
    contents = []
    for _ in range(3):
        enter(path, "0.1")
        contents.append(path.read_text())
    assert contents[1].startswith(contents[0])
    assert contents[2].startswith(contents[1])
    assert "basic composition" in json.loads(contents[2].splitlines()[0])["composition"]
    assert len([json.loads(line) for line in contents[2].splitlines()]) == 4


def test_the_budget_is_set_the_first_time_and_stays(path):
    enter(path, "0.1")
    enter(path, "0.1", "1")
    assert read_ledger(path).budget == 1
    enter(path, "0.1", "2/2")
    refusal(partial(enter, path, "0.1", "2"), "budget must stay 1", "got 2")
    refusal(partial(enter, path, "0.8"), "budget 1")
    assert read_ledger(path).spent == Fraction(3, 10)


def test_a_budget_below_what_was_spent_is_refused(path):
    enter(path, "0.5")
    refusal(partial(enter, path, "0.1", "0.4"), "at most 0, what is left of the budget 0.4")


def test_without_a_ledger_nothing_is_spent_and_nothing_made(path):
    ledger = read_ledger(path)
    assert (ledger.spent, ledger.budget, ledger.left, ledger.entries) == (0, None, None, ())
    require_affordable(ledger, exact_epsilon("5"), None)
    assert not list(path.parent.iterdir())


def test_one_network_has_one_ledger_whatever_link_leads_to_it(tmp_path, monkeypatch):
    (tmp_path / "friends.csv").touch()
    (tmp_path / "link.csv").symlink_to("friends.csv")
    monkeypatch.chdir(tmp_path)
    assert ledger_of("link.csv") == ledger_of(tmp_path / "friends.csv")
    assert ledger_of("friends.csv").parent == tmp_path.resolve()


def test_a_line_cut_off_anywhere_never_loses_what_it_spent(path):
    """The last entry is cut after each of its bytes: it counts, or reading is refused."""
    enter(path, "0.25", "1")
    kept = len(path.read_bytes())
    enter(path, "0.5")
    whole = path.read_bytes()
    counted = 0
    for end in range(kept + 1, len(whole) + 1):
        path.write_bytes(whole[:end])
        try:
            assert read_ledger(path).spent == Fraction(3, 4)
            counted += 1
        except InvalidPrivacyError as error:
            assert "cut off or damaged" in str(error)
    assert counted == len(whole) - kept - len('{"epsilon": "0.5"') + 1


def test_after_a_cut_line_the_next_entry_stands_on_its_own(path):
    enter(path, "0.25", "1")
    enter(path, "0.5")
    path.write_bytes(path.read_bytes()[:-30])
    enter(path, "0.125")
    assert read_ledger(path).spent == Fraction(7, 8)
    assert [entry["epsilon"] for entry in read_ledger(path).entries] == ["0.25", "0.5", "0.125"]
    refusal(partial(enter, path, "0.2"), "at most 0.125")


def test_a_line_cut_before_its_epsilon_stops_releases_until_it_is_written_down(path):
    enter(path, "0.25")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"epsilon": "0.')
    message = refusal(partial(enter, path, "0.1"), "line 3 of", 'write {"epsilon": "E"} there')
    assert str(path) in message
    path.write_bytes(whole + b'{"epsilon": "0.5"}\n')
    enter(path, "0.1")
    assert read_ledger(path).spent == Fraction(17, 20)


@pytest.mark.parametrize(
    "tail",
    [b"\x00" * 40, b"[1]\n", b"{}\n", b'{"epsilon": 0.5}\n', b"[" * 100_000],
    ids=["zeros", "list", "nothing", "float", "nested"],
)
def test_what_cannot_be_understood_stops_releases(path, tail):
    enter(path, "0.25")
    path.write_bytes(path.read_bytes() + tail)
    refusal(partial(enter, path, "0.1"), "line 3 of")


@pytest.mark.parametrize("blank", [b"\n", b"\n\n  \n"])
def test_blank_lines_hold_nothing_and_stop_nothing(path, blank):
    enter(path, "0.25", "1")
    path.write_bytes(path.read_bytes() + blank)
    assert read_ledger(path).spent == Fraction(1, 4)
    enter(path, "0.5")
    assert read_ledger(path).spent == Fraction(3, 4)


@pytest.mark.parametrize("delta", ['"x"', "null", "1e400", "NaN", "true", "-0.1", "1"])
def test_a_delta_that_is_none_is_refused(path, delta):
    enter(path, "0.25")
    with path.open("a") as file:
        file.write(f'{{"epsilon": "1", "delta": {delta}}}\n')
    refusal(partial(read_ledger, path), "delta must be a number from 0 to below 1 in line 3 of")


def test_a_key_that_stands_twice_is_refused(path):
    enter(path, "0.25")
    with path.open("a") as file:
        file.write('{"epsilon": "1", "epsilon": "2"}\n')
    refusal(partial(read_ledger, path), "'epsilon' must stand once in line 3 of", "got it twice")


def test_a_budget_that_is_longer_as_a_fraction_than_as_it_was_given_reads_back(path):
    """One digit and 90 decimals are 92 characters; as a fraction over 10^90 they are 183."""
    budget = "9." + "1" * 90
    enter(path, "1/7", budget)
    assert read_ledger(path).budget == Fraction(budget)
    assert read_ledger(path).left == Fraction(budget) - Fraction(1, 7)
    enter(path, "1/7", budget)
    assert read_ledger(path).spent == Fraction(2, 7)


def test_a_total_too_long_to_write_is_refused_where_it_was_written_by_hand(path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_TOTAL_BITS", 10)
    path.write_text('{"epsilon": "1/31"}\n{"epsilon": "1/37"}\n')
    refusal(partial(read_ledger, path), "at most 10 bits in line 2 of", "got '1/37'")


@pytest.mark.parametrize("there", [(), ("ledger",), ("ledger", "lock")])
def test_a_ledger_that_cannot_be_written_is_refused_and_named(path, there, monkeypatch):
    """Root may write anywhere: what the system would say to somebody else is put in its place."""
    lock = path.with_name(f"{path.name}.lock")
    files = {"ledger": path, "lock": lock}
    for name in there:
        files[name].touch()
    require_writable(path)
    needed = {path if "ledger" in there else path.parent, lock if "lock" in there else path.parent}
    for shut in needed:
        monkeypatch.setattr(os, "access", lambda place, mode, shut=shut: place != shut)
        refusal(partial(require_writable, path), f"{shut} is read-only", error=CannotWriteError)


def test_other_bytes_stop_releases(path):
    path.write_bytes(b"\xff\xfe")
    refusal(partial(read_ledger, path), "ledger must be a readable text file")


def test_a_line_taken_out_or_changed_is_found(path):
    for epsilon in ("0.2", "0.3", "0.5"):
        enter(path, epsilon)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2] + lines[3:]))
    refusal(partial(read_ledger, path), "total must be 0.7 in line 3", "got '1'")
    path.write_text("".join(lines).replace('"0.3"', '"0.03"'))
    refusal(partial(read_ledger, path), "total must be 0.23 in line 3", "got '0.5'")


def test_a_second_budget_is_refused_when_it_is_read(path):
    enter(path, "0.5", "1")
    with path.open("a") as file:
        file.write('{"budget": "2/2"}\n')
    assert read_ledger(path).budget == 1
    with path.open("a") as file:
        file.write('{"budget": "10"}\n')
    refusal(partial(enter, path, "0.1"), "budget must stay 1", "got 10 in line 5 of")


def test_the_entry_is_on_disk_before_spending_returns(path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    enter(path, "0.5")
    assert path.stat().st_ino in synced


def test_a_ledger_in_a_folder_that_is_not_there_is_refused(path):
    """A mistyped name must not begin a ledger of its own."""
    other = path.parent / "missing" / "l"
    for call in (partial(enter, other, "1"), partial(read_ledger, other)):
        refusal(call, "folder that exists", str(other), error=CannotWriteError)
    assert not list(path.parent.iterdir())


def test_a_disk_that_refuses_is_one_line(path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    refusal(
        partial(enter, path, "1"),
        "cannot be written: No space left on device; nothing was drawn",
        error=CannotWriteError,
    )


def test_a_locked_ledger_is_waited_for_and_then_refused(path, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_TO_WAIT", 0.05)
    with filelock.FileLock(f"{path}.lock"):
        refusal(partial(enter, path, "1"), "in use by another process", error=CannotWriteError)
    assert not path.exists()
    enter(path, "1")


RACE = """
import sys, time
from fractions import Fraction
from pathlib import Path
from p0sim.errors import InvalidPrivacyError
from p0sim.privacy.exact_epsilon import exact_epsilon
from p0sim.privacy.ledger import spend
path = Path(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
entered = 0
for _ in range(30):
    try:
        spend(path, exact_epsilon("0.01"), Fraction(1, 2), process=sys.argv[2])
        entered += 1
    except InvalidPrivacyError:
        pass
print(entered)
"""


def test_processes_that_race_never_overspend(path):
    """Four processes ask 30 times each for 1/100 of a budget of 1/2: exactly 50 get it."""
    command = [sys.executable, "-c", RACE, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    racers = [subprocess.Popen([*command, str(k)], **pipes) for k in range(4)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    entered = [int(racer.communicate()[0]) for racer in racers]
    assert sum(entered) == 50
    assert read_ledger(path).spent == Fraction(1, 2)
    assert len(read_ledger(path).entries) == 50
    assert sum(count > 0 for count in entered) > 1
