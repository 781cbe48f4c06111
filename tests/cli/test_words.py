"""What commands show besides results: a sign of life on a terminal, and nothing in a log."""

from __future__ import annotations

import io
import sys

import pandas as pd
import pytest

from p0sim.cli.words import FIRST_TIME, patience, print_frame, print_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal, True), (io.StringIO, False)])
def test_a_terminal_is_told_to_be_patient_and_a_log_is_not(stream, shown, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setenv("TERM", "xterm")
    with patience("fitting"):
        pass
    said = sys.stderr.getvalue()
    assert (f"fitting: {FIRST_TIME}" in said) == shown
    assert shown or said == ""


def test_what_is_printed_does_not_steer_the_terminal(capsys):
    print_frame(pd.DataFrame({"node": ["a\x1b[31m", "b"], "weight": [1, 2]}))
    print_text("first\nc\x1b]0;title\x07")
    shown = capsys.readouterr().out
    assert shown.splitlines()[-2:] == ["first", r"c\x1b]0;title\x07"]
    assert r"a\x1b[31m" in shown
    assert "\x1b" not in shown


def test_an_error_goes_through(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(KeyError), patience("fitting"):
        raise KeyError
