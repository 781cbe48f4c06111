"""Progress: few lines in a log, a bar on a terminal."""

from __future__ import annotations

import io
import random
import subprocess
import sys

import pytest

from p0sim.engine import progress
from p0sim.engine.progress import BarReporter, LineReporter, SilentReporter, open_reporter
from tests.engine.fake import run


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_lines_come_at_most_every_ten_seconds(clock):
    stream = io.StringIO()
    reporter = LineReporter(stream)
    reporter.start(total=500, resumed=100)
    for _ in range(40):
        clock[0] += 1
        reporter.advance(10, seconds_left=60.0)
    reporter.finish(400, seconds=40.0)
    assert stream.getvalue().splitlines() == [
        "100 of 500 replicates are already there",
        "200 of 500 replicates, 10 a second, 1 min 0 s left",
        "300 of 500 replicates, 10 a second, 1 min 0 s left",
        "400 of 500 replicates, 10 a second, 1 min 0 s left",
        "500 of 500 replicates, 10 a second, 1 min 0 s left",
        "400 replicates in 40 s, 10 a second",
    ]


def test_bar_shows_counts_and_time_left_and_ends_with_the_rate():
    stream = Terminal()
    reporter = BarReporter(stream)
    reporter.start(total=500, resumed=100)
    reporter.advance(100, seconds_left=75.0)
    reporter.finish(400, seconds=40.0)
    shown = stream.getvalue()
    assert "100 of 500 replicates are already there" in shown
    assert "200/500" in shown
    assert "1 min 15 s left" in shown
    assert "400 replicates in 40 s, 10 a second" in shown


def test_replicates_that_are_not_needed_leave_the_total():
    stream = Terminal()
    reporter = BarReporter(stream)
    reporter.start(total=500, resumed=0)
    reporter.drop(100)
    reporter.advance(100, seconds_left=1.0)
    reporter.close()
    assert "100/400" in stream.getvalue()


SEEDED = """
import io, random
random.seed(1)
from p0sim.engine.progress import BarReporter
BarReporter(io.StringIO())
print(random.random())
"""


def test_loading_the_bar_leaves_the_global_generator_where_it_stood():
    """rich draws from it when it is first loaded."""
    done = subprocess.run(
        [sys.executable, "-c", SEEDED], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == random.Random(1).random()


def test_bar_leaves_markup_in_notes_alone():
    stream = Terminal()
    BarReporter(stream).note("[factors] n")
    assert "[factors] n" in stream.getvalue()


@pytest.mark.parametrize(
    ("enabled", "stream", "kind"),
    [
        (True, io.StringIO(), LineReporter),
        (True, Terminal(), BarReporter),
        (False, Terminal(), SilentReporter),
    ],
)
def test_reporter_suits_the_stream(enabled, stream, kind):
    assert type(open_reporter(enabled, stream)) is kind


def test_run_says_what_was_resumed_and_how_fast_it_was(tmp_path, capsys):
    run(tmp_path, reps=2, progress=False)
    assert capsys.readouterr() == ("", "")
    run(tmp_path, reps=3, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("6 of 9 replicates are already there\n3 replicates in ")
    assert err.endswith(" a second\n")
    run(tmp_path, reps=3, progress=True)
    assert capsys.readouterr().err.endswith("nothing to compute\n")
