"""Degree files and release directories: what is written, and what is refused when read back."""

from __future__ import annotations

import gzip
import json
import re
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import p0sim as p0
from p0sim.errors import CannotWriteError
from p0sim.privacy.release_files import new_folder
from tests.oracles.refusals import refusal

LABELS = ["01", "ann, b", 'say "x"', " pad ", "α", "NA", "1_0", "=1+1"]
KEYS = {
    "format", "mechanism", "n", "q", "epsilon", "sensitivity", "scale", "lambda",
    "effective_epsilon", "unit_of_privacy", "public", "not_covered", "clip", "ledger", "versions",
}  # fmt: skip


def made(epsilon="0.1", q: int = 4, nodes=LABELS):
    n = len(nodes)
    return p0.release(p0.BiDegree(np.arange(n), np.arange(n)[::-1], q=q, nodes=nodes), epsilon)


@pytest.fixture
def folder(tmp_path):
    made().write(tmp_path / "out")
    return tmp_path / "out"


def test_a_release_directory_holds_two_files_and_nothing_else(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["degrees.csv", "release.json"]
    assert [path.name for path in folder.parent.iterdir()] == ["out"]


def test_the_record_says_all_that_is_public_and_nothing_else(folder):
    """By hand for q = 4 and epsilon = 1/10: sensitivity 6, scale 60 or just above."""
    record = json.loads((folder / "release.json").read_text())
    assert set(record) == KEYS
    assert (record["format"], record["n"], record["q"]) == (1, 8, 4)
    assert (record["epsilon"], record["mechanism"]) == ("0.1", "discrete_laplace")
    assert record["sensitivity"] == 6
    assert 0 <= Fraction(record["scale"]) - 60 < Fraction(1, 10**12)
    assert record["lambda"] == pytest.approx(0.9834714538, abs=1e-10)
    assert Fraction(record["effective_epsilon"]) <= Fraction(1, 10)
    assert record["unit_of_privacy"] == "one edge's weight, anywhere in 0..3"
    assert record["public"] == "n, the node list, q and epsilon"
    assert "not node privacy" in record["not_covered"]
    assert "timing is out of scope" in record["not_covered"]
    assert (record["clip"], record["ledger"]) == (False, "none")
    assert set(record["versions"]) == {"p0sim", "opendp", "python"}
    assert record["versions"]["p0sim"] == p0.__version__


def test_released_values_are_written_as_whole_numbers_in_the_order_of_the_node_list(tmp_path):
    made(nodes=["cy", "ann", "bob"]).write(tmp_path / "out")
    lines = (tmp_path / "out/degrees.csv").read_text().splitlines()
    assert lines[0] == "node,out_degree,in_degree"
    assert [line.split(",")[0] for line in lines[1:]] == ["cy", "ann", "bob"]
    assert all(re.fullmatch(r"\w+,-?[0-9]+,-?[0-9]+", line) for line in lines[1:])


def test_a_release_comes_back_as_it_was(tmp_path):
    z = made("7/3")
    z.write(tmp_path / "out")
    back = p0.read_release(tmp_path / "out")
    assert type(back) is p0.Release
    assert back.nodes == tuple(LABELS)
    assert (back.q, back.epsilon_text, back.is_release) == (4, "7/3", True)
    assert (back.scale, back.record) == (z.scale, z.record)
    np.testing.assert_array_equal(back.out_degree, z.out_degree)
    np.testing.assert_array_equal(back.in_degree, z.in_degree)


def test_a_release_read_back_is_written_the_same(folder):
    p0.read_release(folder).write(folder.parent / "again")
    for name in ("degrees.csv", "release.json"):
        assert (folder.parent / "again" / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.parametrize("label", ["a\nb", "a\rb", "a\r\nb"])
def test_labels_with_line_ends_come_back_too(tmp_path, label):
    made(nodes=[label, "x", "y"]).write(tmp_path / "out")
    assert p0.read_release(tmp_path / "out").nodes[0] == label


TAMPERED = [
    ({"epsilon": "0.2"}, "scale in release.json must be 30"),
    ({"epsilon": 0.1}, "epsilon in release.json must be of the kind str"),
    ({"epsilon": "0"}, "epsilon in release.json must be positive"),
    ({"q": 5}, "unit_of_privacy in release.json must be"),
    (
        {"q": 5, "unit_of_privacy": "one edge's weight, anywhere in 0..4"},
        "scale in release.json must be 80",
    ),
    ({"q": 1}, "q must be at least 2"),
    ({"q": True}, "q in release.json must be of the kind int"),
    ({"n": 9}, "degrees.csv must have n = 9 rows"),
    ({"n": 2}, "n in release.json must be at least 3"),
    ({"scale": 59.9}, "scale in release.json must be 60"),
    ({"scale": 61.0}, "scale in release.json must be 60"),
    ({"scale": "60"}, "scale in release.json must be 60"),
    ({"lambda": 0.5}, "lambda in release.json must be 0.98"),
    ({"sensitivity": 3}, "sensitivity in release.json must be 6"),
    ({"effective_epsilon": "1/9"}, "effective_epsilon in release.json must be"),
    ({"mechanism": "gaussian"}, "mechanism in release.json must be discrete_laplace or edge_flip"),
    ({"mechanism": "edge_flip"}, "in release.json must be"),
    ({"format": 2}, "format in release.json must be 1"),
    ({"ledger": "/home/ann"}, "ledger in release.json must be one of"),
    ({"clip": 3}, "clip in release.json must be of the kind bool"),
    ({"versions": {"p0sim": [1]}}, "versions in release.json must be text each"),
    ({"path": "friends.csv"}, "must not hold 'path', which discrete_laplace does not have; got"),
    ({"law": {}}, "release.json must not hold 'law'"),
    ({"unit_of_privacy": "one node"}, "unit_of_privacy in release.json must be"),
    ({"public": "nothing"}, "public in release.json must be 'n, the node list, q and epsilon'"),
    ({"not_covered": "nothing"}, "not_covered in release.json must be"),
]


@pytest.mark.parametrize(("change", "words"), TAMPERED)
def test_a_record_that_does_not_go_together_is_refused(folder, change, words):
    path = folder / "release.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    refusal(partial(p0.read_release, folder), words)


@pytest.mark.parametrize("key", ["epsilon", "opendp"])
def test_a_record_that_says_a_key_twice_is_refused(folder, key):
    path = folder / "release.json"
    path.write_text(path.read_text().replace(f'"{key}": ', f'"{key}": "1", "{key}": '))
    refusal(
        partial(p0.read_release, folder), f"'{key}' must stand once in release.json; got it twice"
    )


@pytest.mark.parametrize("key", sorted(KEYS))
def test_a_record_without_one_of_its_keys_is_refused(folder, key):
    path = folder / "release.json"
    record = json.loads(path.read_text())
    del record[key]
    path.write_text(json.dumps(record))
    refusal(partial(p0.read_release, folder), key)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\x00", "[" * 100_000, "9" * 5000])
def test_a_record_that_is_no_json_object_is_refused(folder, text):
    (folder / "release.json").write_text(text)
    refusal(partial(p0.read_release, folder), "release.json must")


@pytest.mark.parametrize("name", ["degrees.csv", "release.json"])
def test_an_incomplete_directory_is_refused(folder, name):
    (folder / name).unlink()
    refusal(partial(p0.read_release, folder), f"a release must hold {name}", str(folder))


def test_no_directory_at_all_is_refused(tmp_path):
    refusal(partial(p0.read_release, tmp_path / "nowhere"), "a release must hold degrees.csv")


def test_a_row_cut_off_is_refused(folder):
    path = folder / "degrees.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    refusal(partial(p0.read_release, folder), "degrees.csv must have n = 8 rows", "got 7")


ROWS = "node,out_degree,in_degree\nann,5,-1\n01,2,2\ncy,0,4\n"


@pytest.fixture
def save(tmp_path):
    def write(text: str | bytes):
        path = tmp_path / "degrees.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize("epsilon", ["2", "4/2", 2, 2.0, Fraction(2)])
def test_a_degree_file_with_epsilon_has_noise(save, epsilon):
    z = p0.read_degrees(save(ROWS), q=3, epsilon=epsilon)
    assert isinstance(z, p0.NoisyBiDegree)
    assert (z.is_release, z.epsilon, z.nodes) == (False, 2.0, ("ann", "01", "cy"))
    assert z.out_degree.tolist() == [5, 2, 0]
    assert z.in_degree.tolist() == [-1, 2, 4]


def test_a_degree_file_says_no_more_than_is_known(save):
    """Nobody knows how its noise was drawn: it is neither a release nor a simulation."""
    noisy = p0.read_degrees(save(ROWS), 3, "2")
    assert repr(noisy) == f"NoisyBiDegree(n={noisy.n}, q=3, epsilon=2; no record of a release)"


def test_a_degree_file_without_epsilon_has_none(save):
    d = p0.read_degrees(save(ROWS.replace("5,-1", "3,1")), q=3)
    assert isinstance(d, p0.BiDegree)
    assert d.in_degree.tolist() == [1, 2, 4]


@pytest.mark.parametrize(
    "change", [lambda t: "\ufeff" + t, lambda t: t.replace("\n", "\r\n"), lambda t: t + "\n"]
)
def test_marks_and_line_ends_do_not_matter(save, change):
    assert p0.read_degrees(save(change(ROWS)), q=3, epsilon=2).nodes == ("ann", "01", "cy")


def test_a_degree_file_may_be_packed(save):
    packed = save(ROWS).with_name("degrees.csv.gz")
    packed.write_bytes(gzip.compress(ROWS.encode()))
    assert p0.read_degrees(packed, q=3, epsilon=2).in_degree.tolist() == [-1, 2, 4]


def test_degrees_that_only_noise_gives_ask_for_epsilon(save):
    refusal(partial(p0.read_degrees, save(ROWS), q=4), "in_degree", "noise need epsilon")


@pytest.mark.parametrize(("q", "words"), [(1, "q must be at least 2"), (2**41 + 1, "2**41")])
def test_what_noise_does_not_explain_is_refused_without_that_advice(save, q, words):
    message = refusal(partial(p0.read_degrees, save(ROWS.replace("-1", "1")), q=q), words)
    assert "epsilon" not in message


def test_noise_is_never_ignored_in_silence(save):
    """Totals 7 and 6: no network has them."""
    d = p0.read_degrees(save(ROWS.replace("-1", "0")), q=4)
    refusal(partial(p0.fit, d), "totals", "need epsilon")


@pytest.mark.parametrize("cell", ["3.0", "2e0", "", " 3", "1_0", "0x1", "nan", "٣", "9" * 19])
def test_a_degree_that_is_no_whole_number_is_refused_with_its_row(save, cell):
    path = save(ROWS.replace("01,2,2", f"01,2,{cell}"))
    refusal(partial(p0.read_degrees, path, 3, 2), "in_degree must be a whole number", "in row 3 of")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must start with node,out_degree,in_degree"),
        ("ann,1,2\nbob,2,1\ncy,0,0\n", "must start with node,out_degree,in_degree; got 'ann,1,2'"),
        (ROWS + "dan,1\n", "a row must have 3 cells; got 2 in row 5"),
        (ROWS + "ann,1,1\n", "nodes must be different; got 'ann' in rows 2 and 5 of"),
        (ROWS + '"dan,1,1\n', "degree file must be a table"),
        (b"\xff\xfe", "file must be text in UTF-8"),
        (ROWS.encode() + b"\0", "holds NUL bytes"),
        ("node,out_degree,in_degree\nann,1,1\nbob,1,1\n", "n must be at least 3"),
    ],
)
def test_other_files_are_refused(save, text, words):
    refusal(partial(p0.read_degrees, save(text), 3, 2), words)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    refusal(partial(p0.read_degrees, tmp_path / "no.csv", 3, 2), "must be readable", "no.csv")


@pytest.mark.parametrize("epsilon", ["0", "x", -1.0, float("nan")])
def test_epsilon_of_a_degree_file_is_checked(save, epsilon):
    refusal(partial(p0.read_degrees, save(ROWS), 3, epsilon), "epsilon must be")


def test_an_existing_directory_is_never_overwritten(folder):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    refusal(partial(made().write, folder), "output must be a new folder", error=CannotWriteError)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("make", [lambda p: p.mkdir(), lambda p: p.touch()])
def test_an_empty_directory_or_a_file_of_that_name_is_not_touched(tmp_path, make):
    make(tmp_path / "out")
    write = partial(made().write, tmp_path / "out")
    refusal(write, "which exists", error=CannotWriteError)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_dangling_link_of_that_name_is_not_followed(tmp_path):
    (tmp_path / "out").symlink_to("nowhere")
    refusal(partial(made().write, tmp_path / "out"), "which exists", error=CannotWriteError)


def test_the_folder_that_holds_it_must_be_there(tmp_path):
    refusal(
        partial(made().write, tmp_path / "a" / "out"), "folder that exists", error=CannotWriteError
    )


def test_what_fails_half_way_leaves_nothing(tmp_path, monkeypatch):
    def full(path, text):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("p0sim.privacy.release_files.write_synced", full)
    write = partial(made().write, tmp_path / "out")
    refusal(write, "out cannot be written: No space left on device", error=CannotWriteError)
    assert not list(tmp_path.iterdir())


def test_a_release_is_kept_when_its_name_is_taken_meanwhile(tmp_path):
    def write():
        with new_folder(tmp_path / "out") as folder:
            made().write_into(folder)
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "other").touch()

    message = refusal(write, "the release is whole in", error=CannotWriteError)
    kept = message.split(" is whole in ")[1].split(":")[0]
    assert p0.read_release(kept).n == len(LABELS)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["other"]
