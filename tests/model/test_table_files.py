"""Delimited text: separators, quotes, line ends, matrices, and what a reader may not guess."""

from __future__ import annotations

import gzip

import pytest

import p0sim as p0
from tests.oracles.refusals import refusal

PLAIN = "source,target,weight\nann,bob,1\nann,cy,2\nbob,ann,2\ncy,bob,1\n"


@pytest.fixture
def read(tmp_path):
    """Save as a file of this name and read it; q = 3."""

    def saved_and_read(text: str | bytes, name: str = "friends.csv", **given):
        content = text if isinstance(text, bytes) else text.encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return p0.read_network(path, q=3, **given)

    return saved_and_read


@pytest.mark.parametrize("name", ["f.csv", "f.csv.gz", "F.CSV", "f.tsv.csv", "a.b.csv"])
def test_names_that_end_in_csv_are_comma_separated(name, read):
    assert read(PLAIN, name).bidegree().out_degree.tolist() == [3, 2, 1]


@pytest.mark.parametrize("name", ["f.tsv", "f.tsv.gz", "f.TSV"])
def test_names_that_end_in_tsv_are_tab_separated(name, read):
    assert read(PLAIN.replace(",", "\t"), name).bidegree().out_degree.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("separator", "name"), [(";", "semicolons"), ("\t", "tabs"), (" ", "blanks")]
)
def test_another_separator_is_named(separator, name, read):
    refusal(lambda: read(PLAIN.replace(",", separator)), "commas", name, "row 1")
    refusal(lambda: read(PLAIN, "f.tsv"), "tabs", "commas", "row 1")


@pytest.mark.parametrize(
    "label",
    [
        *("007", "1e3", "1.0", "NA", "nan", "NULL", "None", "True", "inf", "-", "#1", "%x", "//"),
        *(
            " a",
            "a ",
            " ",
            "ä",
            "日本",
            "a'b",
            "a;b",
            "a\u2028b",
            "a\x0bb",
            "\u00e9",
            "e\u0301",
            "=1+1",
        ),
        *("1_0", "0x1", "2001-01-01", "1,5", 'say "hi"', "a\nb", "source", "9" * 30, "x\ufeff"),
    ],
)
def test_labels_are_verbatim(label, read):
    """Whatever it looks like, as source, as target, first row or not; quoted as CSV quotes."""
    cell = '"' + label.replace('"', '""') + '"' if set(label) & set(',"\n') else label
    text = f"source,target,weight\n{cell},x,1\nx,y,1\ny,{cell},1\n"
    assert set(read(text).nodes) == {label, "x", "y"}
    assert read(text, nodes=["y", label, "x"]).bidegree().out_degree.tolist() == [1, 1, 1]
    if label != "source":
        assert set(read(text.split("\n", 1)[1]).nodes) == {label, "x", "y"}


def test_labels_that_differ_in_looks_only_are_different(read):
    assert read("source,target,weight\n1,01,1\n01,1.0,1\n1.0,1 ,1\n").n == 4


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_three_systems(end, read):
    network = read(PLAIN.replace("\n", end))
    assert network.nodes == ("ann", "bob", "cy")
    refusal(lambda: read(PLAIN.replace("cy,bob,1\n", "cy,bob,7\n").replace("\n", end)), "row 5")


def test_rows_are_lines_also_after_a_line_break_in_quotes(read):
    text = 'source,target,weight\n"a\nb",x,1\nx,y,9\n'
    refusal(lambda: read(text), "row 4")


def test_rows_of_commas_alone_are_blank(read):
    """Spreadsheets save them at the end."""
    assert read(PLAIN + ",,\n\n,,\n").bidegree().out_degree.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("bob,ann", ("weight", "''", "row 4")),
        ("bob", ("node", "''", "row 4")),
        ("bob,ann,2,1957", ("line 4", "saw 4")),
        (",,2", ("node", "row 4")),
        ("bob,ann, 2", ("weight", "' 2'", "row 4")),
        ('bob,"ann,2', ("quotation mark",)),
    ],
)
def test_rows_that_are_too_short_or_too_long_are_refused(row, words, read):
    refusal(lambda: read(PLAIN.replace("bob,ann,2", row)), *words)


@pytest.mark.parametrize(
    "text", ["0,1,2\n1,0,0\n0,2,0\n", "0,1,2\n1,0,1\n2,2,0", "0,0,0\n0,0,0\n0,0,0\n"]
)
def test_a_matrix_is_not_read_as_three_edges(text, read):
    refusal(lambda: read(text), "edge list", "3 x 3 matrix", "as_network")


def test_larger_matrices_are_told_too(read):
    refusal(lambda: read("0,1,2,1\n1,0,0,1\n0,2,0,1\n0,0,0,0\n"), "4 x 4 matrix")
    refusal(lambda: read(",a,b,c\na,0,1,2\nb,1,0,0\nc,0,2,0\n"), "source,target,weight", "row 1")


def test_three_edges_between_numbers_are_edges(read):
    """Control: it is the zero diagonal that makes a matrix."""
    assert read("1,2,1\n2,3,1\n3,1,2\n").nodes == ("1", "2", "3")
    assert read("0,1,2\n1,2,0\n2,0,1\n").nodes == ("0", "1", "2")
    assert read("source,target,weight\n0,1,2\n1,0,0\n0,2,0\n").nodes == ("0", "1", "2")


@pytest.mark.parametrize("first", ["a,b,0.5", "a,b,x", "a,b,", "from,to,weight", "a,b,1,2"])
def test_a_first_row_that_says_nothing_is_never_dropped(first, read):
    refusal(lambda: read(first + "\nb,c,1\nc,a,1\n"), "source,target,weight", "row 1", first[:4])


def test_two_columns_without_a_header_are_refused(read):
    """The first row may be a header or an edge: nobody can tell."""
    refusal(lambda: read("a,b\nb,c\nc,a\n"), "source,target,weight", "'a,b'", "row 1")
    refusal(lambda: read("a,b\nb,c,1\nc,a,1\n"), "line 2", "saw 3")


def test_a_first_row_with_a_bad_whole_weight_is_an_edge_and_refused(read):
    refusal(lambda: read("a,b,-1\nb,c,1\n"), "weight", "'-1'", "row 1")
    refusal(lambda: read("a,b,3\nb,c,1\n"), "weight", "'3'", "row 1")


def test_long_cells_are_cut_in_messages(read):
    """A message names a row; it does not print the file."""
    message = refusal(lambda: read(f"source,target,weight\na,b,{'x' * 10_000}\nb,c,1\n"), "row 2")
    assert len(message) < 400
    assert len(refusal(lambda: read(",".join("x" * 3_000)))) < 400


@pytest.mark.parametrize("text", ["", "\n", "\r\n\r\n", " \n", "\ufeff", "\n" + PLAIN])
def test_a_file_that_begins_with_nothing_is_refused(text, read):
    refusal(lambda: read(text), "friends.csv")


def test_a_header_alone_is_an_empty_network_if_the_nodes_are_given(read):
    """It has neighbours like any other, and an error would tell them from it."""
    network = read("source,target,weight\n", nodes=["a", "b", "c"])
    assert network.bidegree().out_degree.tolist() == [0, 0, 0]
    refusal(lambda: read("source,target,weight\n"), "edge", "nodes be given")


def test_text_that_is_not_utf_8_is_refused_in_one_line(read):
    for coding in ("utf-16", "latin-1"):
        text = PLAIN.replace("ann", "änn").encode(coding)
        refusal(lambda text=text: read(text), "UTF-8", "friends.csv")
    refusal(lambda: read(PLAIN.replace("ann", "a\0n")), "NUL")
