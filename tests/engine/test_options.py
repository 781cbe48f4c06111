"""Options are read from what people write, and refused in one line."""

from __future__ import annotations

import pytest

from p0sim.engine.options import RunOptions, Shard, parse_duration
from p0sim.errors import InvalidStudyError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("45s", 45),
        ("1.5m", 90),
        ("30min", 1800),
        (" 2 h ", 7200),
        ("1d", 86400),
        ("1h30m", 5400),
        ("5 min", 300),
    ],
)
def test_durations_are_read(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1h", "1h30", "2 hours", "nan", "1.2.3"])
def test_other_durations_are_refused(text):
    with pytest.raises(InvalidStudyError, match="a duration must be written like 90, 45s"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "-1/3"])
def test_other_shards_are_refused(text):
    with pytest.raises(InvalidStudyError, match="shard must be k/K"):
        Shard.parse(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_jobs": 2, "backend": "threading", "timeout": 1.0}, "timeout needs worker processes"),
        ({"n_jobs": 0}, r"n_jobs \(-j\) must be -1 or in 1\.\.\d+, 8 a core; got 0"),
        ({"n_jobs": -2}, r"n_jobs \(-j\) must be .* got -2"),
        ({"reps": 0}, "reps must be at least 1; got 0"),
        ({"block_size": -1}, "block_size must be at least 1; got -1"),
        ({"max_time": 0.0}, "max_time must be positive and finite; got 0.0"),
        ({"timeout": float("nan")}, "timeout must be positive and finite; got nan"),
        ({"timeout": float("inf")}, "timeout must be positive and finite; got inf"),
        ({"backend": "ray"}, "backend must be one of loky, threading; got 'ray'"),
        ({"retry": ("no_estimate",)}, "retry must be one of error, killed, timeout; got 'no_es"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(InvalidStudyError, match=message):
        RunOptions(**options)
