"""GraphML by networkx: direction, ids, weights as text, repeated edges, what must not be lost."""

from __future__ import annotations

import gzip

import networkx as nx
import numpy as np
import pytest

import p0sim as p0
from tests.oracles.refusals import refusal

ARCS = [("ann", "bob", 1), ("ann", "cy", 2), ("bob", "ann", 2), ("cy", "bob", 1)]
HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
KEY = '<key id="w" for="edge" attr.name="weight" attr.type="{}">{}</key>'
NODES = "".join(f'<node id="{label}"/>' for label in ("ann", "bob", "cy"))


def edge(source: str, target: str, weight: object = None, more: str = "") -> str:
    data = "" if weight is None else f'<data key="w">{weight}</data>'
    return f'<edge source="{source}" target="{target}"{more}>{data}</edge>'


EDGES = "".join(edge(*arc) for arc in ARCS)


def document(edges=EDGES, kind="int", default="", nodes=NODES, direction="directed", head=HEAD):
    key = KEY.format(kind, f"<default>{default}</default>" if default else "")
    return f'{head}{key}<graph edgedefault="{direction}">{nodes}{edges}</graph></graphml>'


@pytest.fixture
def read(tmp_path):
    def saved_and_read(text: str, q: int = 3, **given):
        path = tmp_path / "friends.graphml"
        path.write_text(text, encoding="utf-8")
        return p0.read_network(path, q, **given)

    return saved_and_read


@pytest.mark.parametrize("name", ["friends.graphml", "friends.graphml.gz", "F.GraphML"])
def test_what_networkx_wrote_is_read(name, tmp_path):
    """By hand: out 3, 2, 1 and in 2, 2, 2; nodes in the order of the file."""
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(ARCS)
    graph.add_node("zoe", label="ann")
    nx.write_graphml(graph, tmp_path / name)
    network = p0.read_network(tmp_path / name, q=3)
    assert network.nodes == ("ann", "bob", "cy", "zoe")
    assert network.bidegree().out_degree.tolist() == [3, 2, 1, 0]
    assert network.bidegree().in_degree.tolist() == [2, 2, 2, 0]
    assert (network.source, network.nodes_given) == ((tmp_path / name).resolve(), False)


@pytest.mark.parametrize("kind", ["int", "long", "integer", "double", "float", "string", "boolean"])
def test_the_declared_type_of_a_weight_does_not_matter(kind, read):
    assert read(document(kind=kind)).bidegree().out_degree.tolist() == [3, 2, 1]


def test_a_key_without_a_type_and_a_document_without_a_name_space_are_read(read):
    text = document().replace(' attr.type="int"', "")
    assert read(text).bidegree().out_degree.tolist() == [3, 2, 1]
    assert read(document(head="<graphml>")).bidegree().out_degree.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    "bad", ["1_0", "0x1", " 1", "-1", "3", "0.5", "nan", "", "٢", "1e0", "two"]
)
@pytest.mark.parametrize("kind", ["int", "double", "string"])
def test_bad_weights_are_refused_with_the_number_of_the_edge(bad, kind, read):
    """Python's int() would read 1_0 as ten, and digits of any script."""
    text = document(EDGES + edge("cy", "ann", bad), kind)
    message = refusal(lambda: read(text), "weight", "edge 5 of")
    assert bad in message


def test_edges_without_weight_have_weight_one_only_if_all_are(read):
    bare = "".join(edge(i, j) for i, j, _ in ARCS)
    assert read(document(bare)).bidegree().out_degree.tolist() == [2, 1, 1]
    refusal(lambda: read(document(EDGES + edge("cy", "ann"))), "weight", "edge 5 of")


def test_the_default_of_a_weight_is_used(read):
    """networkx keeps it aside; a reader that forgets it takes 1."""
    text = document(edge("ann", "bob", 1) + edge("bob", "cy"), default="2")
    assert read(text).bidegree().out_degree.tolist() == [1, 2, 0]


def test_numbers_under_another_name_are_not_ignored(read):
    text = document().replace('attr.name="weight"', 'attr.name="value"')
    refusal(lambda: read(text), "'value'", "no weight")


def test_undirected_graphs_are_refused_with_a_way_on(read):
    refusal(lambda: read(document(direction="undirected")), "directed", "friends.graphml")
    mixed = document(EDGES + edge("cy", "ann", 1, ' directed="false"'))
    refusal(lambda: read(mixed), "friends.graphml")


@pytest.mark.parametrize("ids", [("1", "01"), ("x", "x"), ("1", "1"), (None, None)])
def test_repeated_edges_are_refused_or_summed_whatever_ids_they_have(ids, read):
    """networkx reads ids 1 and 01 as one number and drops an edge of that pair."""
    first, second = ("" if label is None else f' id="{label}"' for label in ids)
    text = document(
        edge("ann", "bob", 1, first) + edge("bob", "cy", 1) + edge("ann", "bob", 1, second)
    )
    refusal(lambda: read(text), "edge 1 of", "edge 3 of")
    assert read(text, sum_duplicates=True).bidegree().out_degree.tolist() == [2, 1, 0]
    refusal(lambda: read(text, q=2, sum_duplicates=True), "at most q-1 = 1", "got 2")


def test_edges_of_the_same_id_between_other_nodes_are_kept(read):
    text = document("".join(edge(*arc, more=' id="e"') for arc in ARCS))
    assert read(text).bidegree().out_degree.tolist() == [3, 2, 1]


def test_other_attributes_are_left_aside(read):
    """Also one that networkx cannot read, and one named key, which it takes for an edge's key."""
    keys = "".join(
        f'<key id="k{k}" for="{where}" attr.name="{name}" attr.type="{kind}"/>'
        for k, (where, name, kind) in enumerate(
            [("edge", "key", "string"), ("edge", "year", "int"), ("node", "weight", "vector")]
        )
    )
    data = '<data key="k0">same</data><data key="k1">1957-58</data>'
    text = document(EDGES.replace("</edge>", data + "</edge>")).replace("<graph ", keys + "<graph ")
    text = text.replace('<node id="ann"/>', '<node id="ann"><data key="k2">1 2</data></node>')
    assert read(text).bidegree().out_degree.tolist() == [3, 2, 1]


@pytest.mark.parametrize("label", ["01", "NA", " x ", "1e3", "n0", "ä"])
def test_ids_are_verbatim(label, read):
    text = document().replace('"cy"', f'"{label}"')
    assert read(text).nodes == ("ann", "bob", label)


def test_a_node_list_sets_order_and_isolated_nodes(read):
    network = read(document(), nodes=["zoe", "cy", "bob", "ann"])
    np.testing.assert_array_equal(network.bidegree().out_degree, [0, 1, 2, 3])
    assert network.nodes_given
    refusal(lambda: read(document(), nodes=["ann", "bob", "dan"]), "node list", "'cy'")


def test_a_node_without_arcs_that_the_list_lacks_is_refused(read):
    text = document(nodes=NODES + '<node id="zoe"/>')
    refusal(lambda: read(text, nodes=["ann", "bob", "cy"]), "without an edge too", "'zoe'")


def test_documents_that_hold_no_or_two_graphs_or_hidden_ones_are_refused(read):
    """networkx reads the first graph and forgets the rest."""
    graph = document().removeprefix(HEAD).removesuffix("</graphml>")
    refusal(lambda: read(f"{HEAD}{graph}{graph}</graphml>"), "one GraphML graph")
    refusal(lambda: read(HEAD + "</graphml>"), "one GraphML graph")
    refusal(lambda: read("<html><graph/></html>"), "GraphML")
    refusal(
        lambda: read(document(nodes=NODES + f'<node id="g">{graph}</node>')), "one GraphML graph"
    )
    refusal(lambda: read(document(edges="<hyperedge/>")), "friends.graphml")
    refusal(lambda: read(document()[:-20]), "GraphML")


def test_undeclared_nodes_are_refused(read):
    refusal(lambda: read(document(EDGES + edge("cy", "dan", 1))), "declared", "'dan'", "edge 5 of")


def test_a_graph_without_edges_is_a_network(read):
    assert read(document("")).bidegree().out_degree.tolist() == [0, 0, 0]


def test_self_loops_are_refused_with_the_number_of_the_edge(read):
    refusal(lambda: read(document(EDGES + edge("cy", "cy", 1))), "self-loop", "edge 5 of")


def test_packed_and_plain_files_agree(tmp_path):
    (tmp_path / "f.graphml").write_text(document())
    (tmp_path / "f.graphml.gz").write_bytes(gzip.compress(document().encode()))
    one, other = (p0.read_network(tmp_path / name, q=3) for name in ("f.graphml", "f.graphml.gz"))
    np.testing.assert_array_equal(one.toarray(), other.toarray())


def test_a_node_that_is_declared_twice_is_refused(read):
    text = document(nodes=NODES + '<node id="ann"/>')
    refusal(lambda: read(text), "node must be declared once", "'ann' twice")
