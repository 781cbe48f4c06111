"""Edge list files as people save them: marks, quotes, headers, ids, and the refusals."""

from __future__ import annotations

import re
import time

import numpy as np
import pandas as pd
import pytest

import p0sim as p0
from tests.oracles.refusals import refusal

PLAIN = "source,target,weight\nann,bob,1\nann,cy,2\nbob,ann,2\ncy,bob,1\n"


@pytest.fixture
def save(tmp_path):
    def write(text: str | bytes, name: str = "friends.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


VARIANTS = {
    "plain": PLAIN,
    "byte-order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "windows line ends": PLAIN.replace("\n", "\r\n"),
    "no final newline": PLAIN.rstrip(),
    "quoted weights": 'source,target,weight\nann,bob,"1"\nann,cy,"2"\nbob,ann,"2"\ncy,bob,"1"\n',
    "all quoted": re.sub(r"\w+", r'"\g<0>"', PLAIN),
    "weights written 1.0": PLAIN.replace(",1\n", ",1.0\n").replace(",2\n", ",2.0\n"),
    "no header": PLAIN.split("\n", 1)[1],
    "mark and no header": b"\xef\xbb\xbf" + PLAIN.split("\n", 1)[1].encode(),
    "header in capitals": PLAIN.replace("source,target,weight", "Source,Target,Weight"),
    "columns in another order": "weight,target,source\n1,bob,ann\n2,cy,ann\n2,ann,bob\n1,bob,cy\n",
    "a blank line at the end": PLAIN + "\n",
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_file_gives_the_same_network_however_it_was_saved(variant, save):
    """By hand: out 3, 2, 1 and in 2, 2, 2; the first row is never lost."""
    degrees = p0.read_network(save(VARIANTS[variant]), q=3).bidegree()
    assert degrees.nodes == ("ann", "bob", "cy")
    np.testing.assert_array_equal(degrees.out_degree, [3, 2, 1])
    np.testing.assert_array_equal(degrees.in_degree, [2, 2, 2])


def test_ids_are_verbatim(save):
    """ "01" is not "1", "NA" is not missing, "#a" is no comment, blanks inside stay."""
    path = save("source,target,weight\n01,1,1\n1,NA,1\nNA,#a,1\n#a,b c,1\nb c,01,1\n")
    degrees = p0.read_network(path, q=2).bidegree()
    assert set(degrees.nodes) == {"01", "1", "NA", "#a", "b c"}
    assert (degrees.out_degree == 1).all()


def test_one_based_ids_give_as_many_nodes_as_ids(save):
    rows = "".join(f"{k},{k % 11 + 1},1\n" for k in range(1, 12))
    network = p0.read_network(save("source,target,weight\n" + rows), q=2)
    assert network.nodes == tuple(str(k) for k in range(1, 12))


def test_headerless_numbers_keep_their_first_row(save):
    network = p0.read_network(save("1,2,1\n2,3,1\n3,1,2\n"), q=3)
    assert network.nodes == ("1", "2", "3")
    np.testing.assert_array_equal(network.bidegree().out_degree, [1, 1, 2])


def test_a_file_without_weights_has_weight_one(save):
    network = p0.read_network(save("source,target\na,b\nb,c\nc,a\n"), q=2)
    np.testing.assert_array_equal(network.bidegree().out_degree, [1, 1, 1])


def test_a_file_whose_first_row_says_nothing_is_refused(save):
    """Neither a known header nor an edge: one line that says what is expected."""
    refusal(lambda: p0.read_network(save("from,to,n\na,b,1\n"), q=3), "source,target,weight")
    refusal(lambda: p0.read_network(save("a,b\nb,c\n"), q=3), "source,target,weight")


def test_node_lists_add_isolated_nodes_and_set_the_order(save):
    nodes = save(b"\xef\xbb\xbfzoe\r\ncy\r\nbob\r\nann\r\n", "nodes.txt")
    for given in (nodes, str(nodes), ["zoe", "cy", "bob", "ann"]):
        degrees = p0.read_network(save(PLAIN), q=3, nodes=given).bidegree()
        assert degrees.nodes == ("zoe", "cy", "bob", "ann")
        np.testing.assert_array_equal(degrees.out_degree, [0, 1, 2, 3])


def test_unknown_nodes_are_refused_with_their_row(save):
    nodes = save("ann\nbob\ndan\n", "nodes.txt")
    refusal(lambda: p0.read_network(save(PLAIN), q=3, nodes=nodes), "node", "'cy'", "row ")


BAD_WEIGHTS = ("-1", "3", "0.5", "2.7", "1e-9", "", "nan", "inf", "1_0", "0x1", "two", "--1", "1,5")
OTHER_DIGITS = ("\N{ARABIC-INDIC DIGIT ONE}", "\N{FULLWIDTH DIGIT ONE}")


@pytest.mark.parametrize("bad", [*BAD_WEIGHTS, *OTHER_DIGITS])
def test_bad_weights_are_refused_with_their_row(bad, save):
    """q = 3: whole numbers 0..2; the header is row 1."""
    path = save(PLAIN.replace("bob,ann,2", f"bob,ann,{bad}"))
    refusal(lambda: p0.read_network(path, q=3), "4" if "," in bad else "row 4")


def test_the_largest_level_is_in_and_the_next_is_out(save):
    """The same file with q = 3 (0..2) and q = 2 (0..1); weight 0 is a weight."""
    path = save(PLAIN.replace("cy,bob,1", "cy,bob,0"))
    assert p0.read_network(path, q=3).bidegree().out_degree.tolist() == [3, 2, 0]
    refusal(lambda: p0.read_network(path, q=2), "weight", "'2'", "row 3")


def test_duplicate_pairs_are_refused_with_both_rows(save):
    refusal(lambda: p0.read_network(save(PLAIN + "ann,bob,2\n"), q=4), "row 2", "row 6")


def test_opposite_arcs_are_no_duplicates(save):
    network = p0.read_network(save("source,target,weight\na,b,1\nb,a,2\nc,a,0\n"), q=3)
    np.testing.assert_array_equal(network.bidegree().out_degree, [1, 2, 0])
    np.testing.assert_array_equal(network.bidegree().in_degree, [2, 1, 0])


def test_self_loops_are_refused_with_their_row(save):
    refusal(lambda: p0.read_network(save(PLAIN + "cy,cy,1\n"), q=3), "self-loop", "cy", "row 6")


def test_blank_ids_are_refused(save):
    refusal(lambda: p0.read_network(save(PLAIN + ",cy,1\n"), q=3))


def test_rows_are_counted_as_an_editor_does(save):
    """A blank line in the middle counts as a line."""
    path = save(PLAIN.replace("bob,ann,2", "\nbob,ann,9"))
    refusal(lambda: p0.read_network(path, q=3), "row 5")


def test_missing_and_empty_files_are_refused(save, tmp_path):
    refusal(lambda: p0.read_network(tmp_path / "none.csv", q=3), "none.csv")
    refusal(lambda: p0.read_network(save(""), q=3), "friends.csv")
    refusal(lambda: p0.read_network(save("source,target,weight\n"), q=3))


def test_binary_files_are_refused(save):
    refusal(lambda: p0.read_network(save(b"\xff\xfe\x00\x01"), q=3), "friends.csv")


def test_labels_survive_to_the_network(save):
    network = p0.read_network(str(save(PLAIN)), q=3)
    assert (network.n, network.q, network.nodes) == (3, 3, ("ann", "bob", "cy"))
    np.testing.assert_array_equal(network.toarray(), [[0, 1, 2], [2, 0, 0], [0, 1, 0]])


def test_a_network_knows_its_file_and_whether_its_nodes_were_given(save, monkeypatch, tmp_path):
    """The path is whole, so that it means the same file after a change of folder."""
    path = save(PLAIN)
    monkeypatch.chdir(tmp_path)
    for given in (path, str(path), path.name):
        network = p0.read_network(given, q=3)
        assert network.source == network.bidegree().source == path.resolve()
        assert not network.nodes_given
        assert not network.bidegree().nodes_given
    for nodes in (["ann", "bob", "cy"], save("ann\nbob\ncy\n", "nodes.txt")):
        network = p0.read_network(path, q=3, nodes=nodes)
        assert network.nodes_given
        assert network.bidegree().nodes_given


def test_clipping_is_on_request_and_recorded_whether_or_not_it_happened(save):
    """q = 2: two weights of 2 become 1; a file without any says the same."""
    path = save(PLAIN)
    refusal(lambda: p0.read_network(path, q=2), "weight", "row 3")
    network = p0.read_network(path, q=2, clip=True)
    assert network.bidegree().out_degree.tolist() == [2, 1, 1]
    for q in (2, 3):
        network = p0.read_network(path, q=q, clip=True)
        assert (network.clipped, network.bidegree().clipped) == (True, True)
    assert not p0.read_network(path, q=3).clipped
    assert "clip" not in repr(network)


def test_unknown_nodes_and_loops_are_refused_also_when_clipping_and_summing(save):
    path = save(PLAIN + "cy,cy,1\n")
    refusal(
        lambda: p0.read_network(path, q=3, clip=True, sum_duplicates=True), "self-loop", "row 6"
    )
    path = save(PLAIN)
    refusal(
        lambda: p0.read_network(path, 3, ["ann", "bob", "x"], clip=True, sum_duplicates=True),
        "'cy'",
    )


@pytest.mark.parametrize(
    "label", [" a", "a ", "#a", "a,b", "a\x0bb", "a\u2028b", "a\x85b", '"a"', "01"]
)
def test_labels_of_a_node_list_are_verbatim(label, save):
    """One a line; characters that are line ends to some are part of a label."""
    nodes = save(f"{label}\nx\ny\n", "nodes.txt")
    network = p0.read_network(save("source,target,weight\nx,y,1\n"), q=2, nodes=nodes)
    assert network.nodes == (label, "x", "y")


def test_node_lists_from_three_systems_and_with_blank_lines(save):
    for end in ("\n", "\r\n", "\r"):
        nodes = save(f"{end}ann{end}{end}bob{end}cy{end}{end}", "nodes.txt")
        assert p0.read_network(save(PLAIN), q=3, nodes=nodes).nodes == ("ann", "bob", "cy")


def test_a_label_that_a_node_list_has_twice_is_named_with_both_lines(save):
    nodes = save("ann\nbob\ncy\nbob\n", "nodes.txt")
    refusal(lambda: p0.read_network(save(PLAIN), q=3, nodes=nodes), "'bob'", "2 and 4", "nodes.txt")


def test_node_lists_that_cannot_be_read_are_refused(save, tmp_path):
    refusal(lambda: p0.read_network(save(PLAIN), q=3, nodes=tmp_path / "none.txt"), "none.txt")
    refusal(
        lambda: p0.read_network(save(PLAIN), q=3, nodes=save(b"\xff\xfe", "nodes.txt")), "UTF-8"
    )
    refusal(lambda: p0.read_network(save(PLAIN), q=3, nodes=save("", "nodes.txt")), "n must be")


@pytest.mark.slow
def test_a_million_rows_take_about_a_second(tmp_path):
    """0.6 to 0.9 s were measured; 5 leaves room for a busy machine."""
    n, rows = 2_000, 1_000_000
    pairs = np.random.default_rng(0).choice(n * n, size=rows + n, replace=False)
    source, target = pairs // n, pairs % n
    kept = np.flatnonzero(source != target)[:rows]
    frame = pd.DataFrame({"source": source[kept], "target": target[kept], "weight": 1})
    frame.to_csv(tmp_path / "large.csv", index=False)
    start = time.perf_counter()
    network = p0.read_network(tmp_path / "large.csv", q=2, nodes=[str(k) for k in range(n)])
    assert time.perf_counter() - start < 5
    assert network.weights.nnz == rows
