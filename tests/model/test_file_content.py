"""Files that cannot be had: one line each, whatever the reason."""

from __future__ import annotations

import gzip

import pytest

import p0sim as p0
from tests.oracles.refusals import refusal

PLAIN = b"source,target,weight\nann,bob,1\nann,cy,2\nbob,ann,2\ncy,bob,1\n"
SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".graphml", ".graphml.gz")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_missing_files_and_directories_are_refused(suffix, tmp_path):
    refusal(lambda: p0.read_network(tmp_path / f"none{suffix}", q=3), f"none{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    refusal(lambda: p0.read_network(tmp_path / f"folder{suffix}", q=3), f"folder{suffix}")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "content",
    [b"", b"\0\1\2\3", b"\x1f\x8b", gzip.compress(PLAIN)[:-9], gzip.compress(b"\xff\xfe")],
    ids=["empty", "noise", "gzip's name", "cut gzip", "no UTF-8"],
)
def test_broken_files_are_refused(suffix, content, tmp_path):
    path = tmp_path / f"broken{suffix}"
    path.write_bytes(content)
    refusal(lambda: p0.read_network(path, q=3), path.name)


def test_a_packed_file_under_a_plain_name_and_the_reverse_are_refused(tmp_path):
    (tmp_path / "packed.csv").write_bytes(gzip.compress(PLAIN))
    refusal(lambda: p0.read_network(tmp_path / "packed.csv", q=3), "UTF-8")
    (tmp_path / "plain.csv.gz").write_bytes(PLAIN)
    refusal(lambda: p0.read_network(tmp_path / "plain.csv.gz", q=3), "plain.csv.gz")


@pytest.mark.parametrize("name", ["friends.txt", "friends", "friends.xlsx", "friends.gml", "csv"])
def test_names_that_say_nothing_are_refused(name, tmp_path):
    (tmp_path / name).write_bytes(PLAIN)
    refusal(lambda: p0.read_network(tmp_path / name, q=3), ".csv", ".parquet", ".graphml", name)
