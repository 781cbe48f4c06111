"""What a report is drawn from comes back from its files as it was printed there."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import json
import math

import numpy as np
import pandas as pd
import pytest

from p0sim.errors import InvalidStudyError
from p0sim.report.material import (
    FILE_OF,
    FILES,
    FRAME_NAMES,
    RECORD,
    RECORDED,
    holds_report,
    read_material,
    write_material,
)
from tests.report.fake_material import fake_material, material_of, two_problems


@pytest.fixture(scope="module")
def written():
    return fake_material(sizes=(100,), problems=two_problems())


@pytest.fixture
def folder(written, tmp_path):
    write_material(written, tmp_path / "report")
    return tmp_path / "report"


def printed(path):
    """Oracle: the file as the standard library reads it."""
    return list(csv.DictReader(io.StringIO(text_of(path), newline="")))


def text_of(path):
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")


def write_text(path, text):
    raw = text.encode("utf-8")
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


@pytest.mark.parametrize("name", FRAME_NAMES)
def test_every_number_and_text_is_the_printed_one(name, folder):
    frame, lines = getattr(read_material(folder), name), printed(folder / FILE_OF[name])
    assert len(frame) == len(lines)
    for column in frame.columns:
        texts = [line[column] for line in lines]
        if pd.api.types.is_numeric_dtype(frame[column]):
            wanted = [float(text) if text else math.nan for text in texts]
            np.testing.assert_array_equal(frame[column].astype("float64"), wanted)
        else:
            assert frame[column].tolist() == texts


@pytest.mark.parametrize("name", FRAME_NAMES)
def test_columns_and_kinds_are_those_that_were_written(name, written, folder):
    before, after = getattr(written, name), getattr(read_material(folder), name)
    assert list(after.columns) == list(before.columns)
    for column in before.columns:
        kinds = [frame[column].dtype.kind for frame in (before, after)]
        assert kinds[0] == kinds[1] or "O" in kinds, column


def test_numbers_keep_six_digits(written, folder):
    after = read_material(folder)
    for name in ("performance", "qq", "zipper", "points"):
        for column in ("lower", "value", "z", "estimate"):
            if column in getattr(written, name):
                pair = [getattr(m, name)[column].astype("float64") for m in (after, written)]
                np.testing.assert_allclose(*pair, rtol=5e-6)


def test_writing_what_was_read_gives_the_same_bytes(folder, tmp_path):
    write_material(read_material(folder), tmp_path / "again")
    for name in (*FILES, RECORD):
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name


def test_what_is_no_frame_comes_back_too(written, folder):
    after = read_material(folder)
    for name in RECORDED:
        assert getattr(after, name) == getattr(written, name), name


def test_texts_of_others_come_back_with_their_line_ends(written, folder):
    messages = sorted(read_material(folder).problems["message"])
    assert messages == sorted(two_problems()["message"])
    assert "NA" in messages


def word_study():
    """Levels that are words which look like numbers and like missing values."""
    cells = pd.DataFrame(
        {"cell": ["c1", "c2"], "design": ["5", "NA"], "design_rule": ["5", "NA"], "target_reps": 2}
    )
    replicates = pd.DataFrame(
        {
            "cell": ["c1", "c1", "c2", "c2"],
            "method": "mine",
            "rep": [1, 2, 1, 2],
            "status": "ok",
            "sup_error": math.nan,
        }
    )
    estimates = replicates[["cell", "method", "rep"]].assign(
        estimand="mu",
        estimate=[0.1, 0.2, 0.3, 0.4],
        std_error=0.1,
        lower=0.0,
        upper=0.5,
        true_value=0.2,
        z=[-1.0, 0.0, 1.0, 2.0],
    )
    return cells, replicates, estimates


def test_levels_that_are_words_stay_words(tmp_path):
    write_material(material_of(*word_study()), tmp_path)
    after = read_material(tmp_path)
    assert after.cells["design"].tolist() == ["5", "NA"]
    assert set(after.performance["design"]) == {"5", "NA"}


def test_a_folder_says_whether_it_holds_a_report(folder, tmp_path):
    assert holds_report(folder)
    assert not holds_report(tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(name, folder):
    (folder / name).unlink()
    with pytest.raises(InvalidStudyError, match=rf"{name} is missing"):
        read_material(folder)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (RECORD, "{", ""),
        (RECORD, '"seed"', '"sead"'),
        ("qq.csv.gz", "c000", "c000,"),
        ("performance.csv.gz", "n_failed", "n_filed"),
        ("cells.csv", "100,100", "many,100"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(name, old, new, folder):
    text = text_of(folder / name)
    assert old in text
    write_text(folder / name, text.replace(old, new))
    with pytest.raises(InvalidStudyError, match=rf"{name} is damaged") as caught:
        read_material(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["performance.csv.gz", "qq.csv.gz", "zipper.csv.gz", "points.csv.gz"]
)
@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_a_truncated_file_is_damaged(name, keep, folder):
    raw = (folder / name).read_bytes()
    (folder / name).write_bytes(raw[: int(keep * len(raw))])
    with pytest.raises(InvalidStudyError, match=rf"{name} is damaged: .*end"):
        read_material(folder)


@pytest.mark.parametrize("name", ["performance.csv.gz", "cells.csv", "failures.csv"])
def test_a_file_cut_at_the_end_of_a_line_is_damaged(name, folder):
    lines = text_of(folder / name).splitlines(keepends=True)
    write_text(folder / name, "".join(lines[:-1]))
    wanted = rf"{name} is damaged: it must have {len(lines) - 1} rows; got {len(lines) - 2}"
    with pytest.raises(InvalidStudyError, match=wanted):
        read_material(folder)


def test_a_report_that_does_not_count_its_rows_is_read(folder):
    """Reports of earlier versions; control of the test above."""
    record = json.loads((folder / RECORD).read_text("utf-8"))
    del record["rows"]
    (folder / RECORD).write_text(json.dumps(record))
    lines = (folder / "cells.csv").read_text("utf-8").splitlines()
    (folder / "cells.csv").write_text("\n".join(lines[:-1]) + "\n")
    assert len(read_material(folder).cells) == len(lines) - 2


def test_the_record_is_json_that_others_can_read(folder, written):
    record = json.loads((folder / RECORD).read_text("utf-8"))
    assert record["seed"] == written.seed
    assert {field.name for field in dataclasses.fields(written)} == {*RECORDED, *FRAME_NAMES}
