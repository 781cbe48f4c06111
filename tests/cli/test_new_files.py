"""Output files: whole or not at all, never over what is there."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from p0sim.cli.new_files import (
    csv_text,
    require_folder,
    require_new_csv,
    require_new_figures,
    require_new_file,
    write_new_file,
)
from p0sim.errors import CannotWriteError
from tests.oracles.refusals import refusal


def test_a_new_file_holds_the_text_and_nothing_is_left_beside_it(tmp_path):
    write_new_file(tmp_path / "a.csv", "é\r\n")
    assert (tmp_path / "a.csv").read_bytes() == "é\r\n".encode()
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize("kind", ["file", "folder", "dangling link"])
def test_nothing_is_overwritten(kind, tmp_path):
    path = tmp_path / "a.csv"
    make = {
        "file": lambda: path.write_text("mine"),
        "folder": path.mkdir,
        "dangling link": lambda: path.symlink_to(tmp_path / "nowhere"),
    }
    make[kind]()
    for call in (lambda: require_new_file(path), lambda: write_new_file(path, "yours")):
        refusal(call, "output must be a new file", "a.csv", error=CannotWriteError)
    assert kind != "file" or path.read_text() == "mine"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_an_output_needs_a_folder_that_exists(tmp_path):
    place = tmp_path / "no" / "a.csv"
    for call in (require_new_file, require_folder, lambda path: write_new_file(path, "x")):
        refusal(lambda call=call: call(place), "folder that exists", error=CannotWriteError)
    require_new_file(None)
    require_folder(None)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.parquet", "a.tsv", "a.csv.graphml"])
def test_a_table_is_not_written_under_the_name_of_another_format(name, tmp_path):
    refusal(
        lambda: require_new_csv(tmp_path / name), "must end in .csv", name, error=CannotWriteError
    )
    for kept in ("a.csv", "a.CSV", "a", "v1.2.csv"):
        require_new_csv(tmp_path / kept)
    require_new_csv(None)


@pytest.mark.parametrize("taken", ["b.v1.pdf", "b.v1.png"])
def test_figures_are_not_written_over_others(taken, tmp_path):
    stems = [f"{tmp_path}/a.v1", f"{tmp_path}/b.v1"]
    require_new_figures(stems)
    (tmp_path / taken).touch()
    refusal(lambda: require_new_figures(stems), "must be a new file", taken, error=CannotWriteError)


def test_a_disk_that_refuses_leaves_no_file(tmp_path, monkeypatch):
    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    message = refusal(
        lambda: write_new_file(tmp_path / "a.csv", "x"), "No space left", error=CannotWriteError
    )
    assert message.startswith(str(tmp_path / "a.csv"))
    assert os.listdir(tmp_path) == []


def test_cells_come_back_as_they_were():
    rows = [["a,b", 1], ['say "hi"', 2], ["two\nlines", 3], ["lone\rreturn", 4], [" blank ", 5]]
    text = csv_text(["node", "weight"], rows)
    back = list(csv.reader(text.splitlines(keepends=True), strict=True))
    assert back == [["node", "weight"], *[[cell, str(weight)] for cell, weight in rows]]
