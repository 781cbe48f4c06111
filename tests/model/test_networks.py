"""Networks from arrays, sparse matrices, frames and graphs: values, labels, refusals."""

from __future__ import annotations

import warnings
from decimal import Decimal

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import p0sim as p0
from tests.oracles.refusals import refusal

DENSE = np.array([[0, 1, 2], [2, 0, 0], [0, 1, 0]])
ARCS = [("ann", "bob", 1), ("ann", "cy", 2), ("bob", "ann", 2), ("cy", "bob", 1)]
NODES = ["ann", "bob", "cy"]


def edge_frame(**columns) -> pd.DataFrame:
    source, target, weight = zip(*ARCS, strict=True)
    return pd.DataFrame({"source": source, "target": target, "weight": weight} | columns)


def graph() -> nx.DiGraph:
    built = nx.DiGraph()
    built.add_weighted_edges_from(ARCS)
    return built


INPUTS = {
    "array": lambda: (DENSE, NODES),
    "list": lambda: (DENSE.tolist(), NODES),
    "float array": lambda: (DENSE.astype(float), NODES),
    "uint8 array": lambda: (DENSE.astype(np.uint8), NODES),
    "object array": lambda: (DENSE.astype(object), NODES),
    "csr matrix": lambda: (sparse.csr_matrix(DENSE), NODES),
    "coo array": lambda: (sparse.coo_array(DENSE), NODES),
    "csc uint8": lambda: (sparse.csc_array(DENSE.astype(np.uint8)), NODES),
    "edge frame": lambda: (edge_frame(), None),
    "edge frame, rows reversed": lambda: (edge_frame()[::-1], None),
    "edge frame, other columns": lambda: (
        edge_frame(year=1957)[["year", "weight", "target", "source"]],
        None,
    ),
    "edge frame, text weights": lambda: (edge_frame(weight=["1", "2", "2", "1.0"]), None),
    "edge frame, mixed objects": lambda: (edge_frame(weight=[1, "2", Decimal(2), 1.0]), None),
    "square frame": lambda: (pd.DataFrame(DENSE, index=NODES, columns=NODES), None),
    "graph": lambda: (graph(), None),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_every_kind_of_input_gives_the_same_network(kind):
    """By hand: row and column sums of the three-node example."""
    network, nodes = INPUTS[kind]()
    degrees = p0.bidegree(network, q=3, nodes=nodes)
    assert degrees.nodes == ("ann", "bob", "cy")
    np.testing.assert_array_equal(degrees.out_degree, [3, 2, 1])
    np.testing.assert_array_equal(degrees.in_degree, [2, 2, 2])
    assert degrees.out_degree.dtype == np.int64
    np.testing.assert_array_equal(p0.as_network(network, 3, nodes).toarray(), DENSE)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, np.asarray])
def test_small_integer_types_do_not_overflow(make):
    """299 arcs of weight 4 sum to 1196; eight bits would give 172."""
    weights = np.full((300, 300), 4, dtype=np.uint8)
    np.fill_diagonal(weights, 0)
    degrees = p0.bidegree(make(weights), q=5)
    assert (degrees.out_degree == 1196).all()
    assert (degrees.in_degree == 1196).all()


def test_float32_weights_sum_exactly():
    """2**24 + 1 is not a float32: 100 arcs of weight 2**20 + 1 need more digits than it has."""
    n, weight = 101, 2**20 + 1
    weights = np.full((n, n), weight, dtype=np.float32)
    np.fill_diagonal(weights, 0)
    assert (p0.bidegree(weights, q=weight + 1).out_degree == 100 * weight).all()


def test_row_order_of_an_edge_list_does_not_matter():
    shuffled = edge_frame().sample(frac=1, random_state=1)
    one, other = p0.bidegree(edge_frame(), q=3), p0.bidegree(shuffled, q=3)
    assert one.nodes == other.nodes
    np.testing.assert_array_equal(one.out_degree, other.out_degree)


def test_isolated_nodes_come_from_the_node_list():
    """A node without arcs cannot be seen in an edge list; the list's order is kept."""
    degrees = p0.bidegree(edge_frame(), q=3, nodes=["zoe", "cy", "bob", "ann"])
    assert degrees.nodes == ("zoe", "cy", "bob", "ann")
    np.testing.assert_array_equal(degrees.out_degree, [0, 1, 2, 3])
    np.testing.assert_array_equal(degrees.in_degree, [0, 2, 2, 2])


def test_isolated_nodes_of_a_graph_are_kept():
    built = graph()
    built.add_node("zoe")
    degrees = p0.bidegree(built, q=3)
    assert set(degrees.nodes) == {"ann", "bob", "cy", "zoe"}
    assert degrees.out_degree[degrees.nodes.index("zoe")] == 0


def test_a_graph_without_weights_has_weight_one():
    degrees = p0.bidegree(nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a")]), q=2)
    np.testing.assert_array_equal(degrees.out_degree, [1, 1, 1])


def test_one_based_ids_make_no_extra_node():
    """ids 1..11 are eleven nodes, in the order of the numbers."""
    ids = np.arange(1, 12)
    degrees = p0.bidegree(pd.DataFrame({"source": ids, "target": np.roll(ids, 1)}), q=2)
    assert degrees.nodes == tuple(str(k) for k in range(1, 12))


def test_a_square_frame_with_a_node_list_follows_the_list():
    frame = pd.DataFrame(DENSE, index=NODES, columns=NODES)
    degrees = p0.bidegree(frame, q=3, nodes=["cy", "ann", "bob"])
    assert degrees.nodes == ("cy", "ann", "bob")
    np.testing.assert_array_equal(degrees.out_degree, [1, 3, 2])


def test_a_square_frame_with_unequal_labels_is_refused():
    frame = pd.DataFrame(DENSE, index=NODES, columns=["bob", "ann", "cy"])
    refusal(lambda: p0.bidegree(frame, q=3), "columns")


@pytest.mark.parametrize(
    "labels", [["01", "1", "001"], ["a b", "a,b", 'ä"ö'], ["NA", "nan", "null"]]
)
def test_labels_are_kept_verbatim(labels):
    frame = pd.DataFrame({"source": labels, "target": np.roll(labels, 1), "weight": 1})
    assert set(p0.bidegree(frame, q=2).nodes) == set(labels)
    assert p0.bidegree(frame, q=2, nodes=labels).nodes == tuple(labels)


@pytest.mark.parametrize("bad", [-1, 3, 0.5, 2.7, 1e-9, np.nan, np.inf])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_weights_outside_the_levels_are_refused_in_matrices(bad, wrap):
    """0..q-1 = 0..2; the arc is named."""
    weights = DENSE.astype(float)
    weights[0, 1] = bad
    refusal(
        lambda: p0.bidegree(wrap(weights), q=3, nodes=NODES), "weight", "2", str(bad), "ann", "bob"
    )


@pytest.mark.parametrize(
    "bad", [-1, 3, 0.5, "-1", "1_0", "0x1", "", "nan", "inf", "1e0", "two", None]
)
def test_weights_outside_the_levels_are_refused_in_frames(bad):
    frame = edge_frame(weight=pd.Series([1, bad, 2, 1], dtype=object))
    refusal(lambda: p0.bidegree(frame, q=3), "weight", "2", str(bad))


def test_the_largest_level_is_accepted_and_the_next_is_not():
    """q = 3: weight 2 and weight 0 are in, 3 is out."""
    assert p0.bidegree(edge_frame(weight=[2, 2, 2, 0]), q=3).out_degree.tolist() == [4, 2, 0]
    refusal(lambda: p0.bidegree(edge_frame(weight=[2, 2, 3, 0]), q=3), "weight", "3")


def test_duplicate_pairs_are_refused_with_both_places():
    """Never the last one, never a sum."""
    frame = pd.concat([edge_frame(), edge_frame().iloc[[1]]])
    message = refusal(lambda: p0.bidegree(frame, q=5), "2", "5")
    assert "twice" in message or "once" in message


def test_duplicate_entries_of_a_sparse_matrix_are_refused():
    """scipy would sum them without a word."""
    doubled = sparse.coo_array(([1, 1, 1], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    refusal(lambda: p0.bidegree(doubled, q=5), "once")


def test_self_loops_are_refused_and_named():
    loop = DENSE.copy()
    loop[1, 1] = 1
    for network in (loop, sparse.csr_array(loop)):
        refusal(lambda network=network: p0.bidegree(network, q=3, nodes=NODES), "self-loop", "bob")
    looped = pd.concat(
        [edge_frame(), pd.DataFrame([["cy", "cy", 1]], columns=edge_frame().columns)]
    )
    refusal(lambda: p0.bidegree(looped, q=3), "self-loop", "cy", "5")
    graph_loop = graph()
    graph_loop.add_edge("cy", "cy", weight=1)
    refusal(lambda: p0.bidegree(graph_loop, q=3), "self-loop", "cy")


def test_unknown_nodes_are_refused():
    refusal(lambda: p0.bidegree(edge_frame(), q=3, nodes=["ann", "bob", "dan"]), "node", "cy")


def test_a_node_list_may_be_any_ordered_list():
    """Tuple, array, generator; a set has no order, so which node is last would be chance."""
    for nodes in (tuple(NODES), np.array(NODES), iter(NODES), pd.Series(NODES)):
        assert p0.bidegree(edge_frame(), q=3, nodes=nodes).nodes == ("ann", "bob", "cy")
    refusal(lambda: p0.bidegree(edge_frame(), q=3, nodes=set(NODES)), "nodes", error=TypeError)


def test_masked_entries_are_not_read():
    """What stands under a mask is missing, not a weight."""
    hidden = np.ma.masked_array(DENSE, mask=DENSE == 1)
    with pytest.raises((TypeError, ValueError)):
        p0.bidegree(hidden, q=3)


def test_shapes_are_checked():
    refusal(lambda: p0.bidegree(np.zeros((3, 4)), q=3), "square", "(3, 4)")
    refusal(lambda: p0.bidegree(sparse.csr_array((3, 4)), q=3), "square", "(3, 4)")
    refusal(lambda: p0.bidegree(np.zeros(3), q=3), "square", "(3,)")
    refusal(lambda: p0.bidegree([[0, 1], [1]], q=3), "square")
    refusal(lambda: p0.bidegree(np.zeros((2, 2)), q=3), "n must be at least 3", "got 2")


def test_undirected_graphs_are_refused():
    """Which way an edge points is not for a reader to guess."""
    refusal(lambda: p0.bidegree(graph().to_undirected(), q=3), "DiGraph")
    refusal(lambda: p0.bidegree(nx.MultiDiGraph(graph()), q=3), "DiGraph", "sum_duplicates")


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, ""])
def test_missing_node_ids_are_refused(missing):
    """A blank cell is not a node called nan."""
    frame = edge_frame(source=pd.Series(["ann", missing, "bob", "cy"], dtype=object))
    refusal(lambda: p0.bidegree(frame, q=3))


def test_other_kinds_are_a_type_error():
    for network in (7, "friends.csv", {"a": 1}):
        refusal(lambda network=network: p0.bidegree(network, q=3), "network", error=TypeError)


def test_q_is_never_read_off_the_data():
    refusal(lambda: p0.bidegree(DENSE), "q", error=TypeError)


def test_reading_warns_of_nothing():
    """Ordinary input is read in silence."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for make in INPUTS.values():
            network, nodes = make()
            p0.bidegree(network, q=3, nodes=nodes)


# a list, a matrix and a square frame say which nodes there are; an edge list alone does not
GIVEN = {kind: "edge" not in kind and kind != "graph" for kind in INPUTS}


@pytest.mark.parametrize("kind", INPUTS)
def test_a_network_says_whether_its_nodes_were_given(kind):
    network, nodes = INPUTS[kind]()
    made = p0.as_network(network, 3, nodes)
    assert (made.nodes_given, made.source, made.clipped) == (GIVEN[kind], None, False)
    assert made.bidegree().nodes_given == GIVEN[kind]
    named = p0.as_network(network, 3, NODES)
    assert (named.nodes_given, named.nodes) == (True, tuple(NODES))


def test_nodes_of_a_network_can_be_given_afterwards():
    """The list must be the one that was found; then it is no longer read off the arcs."""
    found = p0.as_network(edge_frame(), 3)
    assert p0.as_network(found) is found
    assert not found.nodes_given
    assert p0.as_network(found, nodes=NODES).nodes_given
    refusal(lambda: p0.as_network(found, nodes=NODES[::-1]), "nodes")


@pytest.mark.parametrize("kind", INPUTS)
def test_clipping_moves_weights_to_the_nearer_end_in_every_kind(kind):
    """q = 2: weights of 2 become 1; it is recorded that clipping was asked for, not how often."""
    network, nodes = INPUTS[kind]()
    for q, out_degree in ((2, [2, 1, 1]), (3, [3, 2, 1])):
        made = p0.as_network(network, q, nodes, clip=True)
        assert made.bidegree().out_degree.tolist() == out_degree
        assert (made.clipped, made.bidegree().clipped) == (True, True)
    assert p0.as_network(p0.as_network(network, 3, nodes), clip=True).clipped


@pytest.mark.parametrize("sum_duplicates", [False, True])
def test_clipping_and_summing_forgive_nothing_else(sum_duplicates):
    wishes = {"clip": True, "sum_duplicates": sum_duplicates}
    for bad in (0.5, np.nan, np.inf):
        weights = DENSE.astype(float)
        weights[0, 1] = bad
        for network in (weights, sparse.csr_array(weights)):
            refusal(lambda network=network: p0.as_network(network, 3, **wishes), "weight", str(bad))
    loop = DENSE.copy()
    loop[1, 1] = 7
    refusal(lambda: p0.as_network(loop, 3, **wishes), "self-loop")


def test_parallel_arcs_are_summed_on_request_only():
    doubled = sparse.coo_array(([1, 1, 1], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    frame = pd.DataFrame({"source": ["1", "1", "2"], "target": ["2", "2", "3"], "weight": 1})
    multi = nx.MultiDiGraph([("1", "2"), ("1", "2"), ("2", "3")])
    for network in (doubled, frame, multi):
        refusal(lambda network=network: p0.as_network(network, 3), "sum_duplicates")
        summed = p0.as_network(network, 3, sum_duplicates=True)
        assert summed.bidegree().out_degree.tolist() == [2, 1, 0]
        assert not summed.clipped
        refusal(lambda network=network: p0.as_network(network, 2, sum_duplicates=True), "q-1 = 1")


def test_sums_are_clipped_and_not_their_parts():
    """5 - 4 = 1, 1 - 4 is below 0, and 2^53 a thousand and 24 times is 2^63, beyond int64."""
    rows = [("a", "b", 5), ("a", "b", -4), ("b", "c", 1), ("b", "c", -4)]
    rows += [("c", "a", 2**53)] * 1024
    frame = pd.DataFrame(rows, columns=["source", "target", "weight"])
    made = p0.as_network(frame, 3, clip=True, sum_duplicates=True)
    assert made.bidegree().out_degree.tolist() == [1, 0, 2]
    refusal(lambda: p0.as_network(frame, 3, sum_duplicates=True), "in 0..q-1 = 2; got 5", "row 1")


def test_a_graph_with_some_weights_missing_is_refused():
    """networkx takes them for 1; a blank cell of a table is refused too."""
    built = graph()
    built.add_edge("bob", "cy")
    refusal(lambda: p0.as_network(built, 3), "weight", "None", "from bob to cy")


def test_nodes_that_the_list_lacks_are_refused_even_without_arcs():
    """Else they would be dropped in silence."""
    built = graph()
    built.add_node("zoe")
    refusal(lambda: p0.as_network(built, 3, NODES), "node list", "'zoe'")
    empty = pd.DataFrame(0, index=[*NODES, "zoe"], columns=[*NODES, "zoe"])
    refusal(lambda: p0.as_network(empty, 3, NODES), "node list", "'zoe'")
    assert p0.as_network(empty, 3, [*NODES, "zoe", "yan"]).n == 5


def test_ids_of_a_column_with_gaps_are_not_turned_into_decimals():
    """pandas makes 1.0 of 1 where a cell is missing; the label 1.0 would be another node."""
    frame = pd.DataFrame({"source": [1.0, 2.0, 3.0], "target": [2, 3, 1]})
    refusal(lambda: p0.as_network(frame, 2), "text or whole numbers", "1.0")


def test_sums_that_int64_might_not_hold_are_refused():
    """(n-1)(q-1) < 2**62, so that noise added to a degree does not wrap round either."""
    q, n = 2**41, 2**21 + 2
    refusal(lambda: p0.Network(sparse.coo_array((n, n)), q), "2^62")
    refusal(lambda: p0.BiDegree(np.zeros(n, int), np.zeros(n, int), q), "2^62")


def test_what_a_network_is_does_not_change_how_it_is_shown():
    assert repr(p0.as_network(edge_frame(), 3, clip=True)) == "Network(n=3, q=3, arcs=4)"
