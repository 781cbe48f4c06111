"""Small inputs behind public reports of wrong behaviour in neighbouring tools.

One test a row of the list of cases, here the rows that concern loading and files; the docstring
gives the row's number and the right value. A row is a kind of fault: each test looks at every
way in, not at the one input. ELSEWHERE names the tests that hold the other rows.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import p0sim as p0
from p0sim.cli.seeds import seeded
from tests.oracles.named import is_a_test
from tests.oracles.refusals import refusal

Rows = list[tuple[str, str, object]]
NODES = ["a", "b", "c"]


def as_csv(rows: Rows, separator: str = ",") -> str:
    lines = [("source", "target", "weight"), *rows]
    return "".join(separator.join(str(cell) for cell in line) + "\n" for line in lines)


def as_graphml(rows: Rows, nodes: list[str]) -> str:
    declared = "".join(f'<node id="{node}"/>' for node in nodes)
    edges = "".join(
        f'<edge source="{i}" target="{j}"><data key="w">{w}</data></edge>' for i, j, w in rows
    )
    return (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        '<key id="w" for="edge" attr.name="weight" attr.type="int"/>'
        f'<graph edgedefault="directed">{declared}{edges}</graph></graphml>'
    )


def as_parquet(rows: Rows) -> bytes:
    frame = pd.DataFrame(rows, columns=["source", "target", "weight"])
    packed = io.BytesIO()
    frame.astype({"weight": str}).to_parquet(packed)
    return packed.getvalue()


def as_frame(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["source", "target", "weight"])


def as_graph(rows: Rows, nodes: list[str]) -> nx.MultiDiGraph | nx.DiGraph:
    parallel = len({row[:2] for row in rows}) < len(rows)
    graph = nx.MultiDiGraph() if parallel else nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_weighted_edges_from(rows)
    return graph


def as_sparse(rows: Rows, nodes: list[str], dtype: type = object) -> sparse.coo_array:
    i, j = ([nodes.index(row[k]) for row in rows] for k in (0, 1))
    weight = np.array([row[2] for row in rows])
    return sparse.coo_array((weight, (i, j)), shape=(len(nodes), len(nodes)))


FILES: dict[str, Callable[[Rows, list[str]], bytes]] = {
    "friends.csv": lambda rows, nodes: as_csv(rows).encode(),
    "friends.tsv": lambda rows, nodes: as_csv(rows, "\t").encode(),
    "friends.csv.gz": lambda rows, nodes: gzip.compress(as_csv(rows).encode()),
    "friends.tsv.gz": lambda rows, nodes: gzip.compress(as_csv(rows, "\t").encode()),
    "friends.parquet": lambda rows, nodes: as_parquet(rows),
    "friends.graphml": lambda rows, nodes: as_graphml(rows, nodes).encode(),
    "friends.graphml.gz": lambda rows, nodes: gzip.compress(as_graphml(rows, nodes).encode()),
}
OBJECTS = {
    "frame": lambda rows, nodes: as_frame(rows),
    "graph": as_graph,
    "sparse": as_sparse,
}
WAYS = [*FILES, *OBJECTS]


@pytest.fixture
def load(tmp_path: Path):
    """Load rows one of the WAYS: through a file of that name, or as that object."""

    def loaded(way: str, rows: Rows, q: int, nodes: list[str] = NODES, **wishes: bool):
        if way in OBJECTS:
            return p0.as_network(OBJECTS[way](rows, nodes), q, nodes, **wishes)
        path = tmp_path / way
        path.write_bytes(FILES[way](rows, nodes))
        return p0.read_network(path, q, nodes, **wishes)

    return loaded


def degrees(network: p0.Network) -> tuple[list[int], list[int]]:
    sums = network.bidegree()
    return sums.out_degree.tolist(), sums.in_degree.tolist()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("q", [2, 3, 5])
def test_row_5_the_largest_level_is_in_and_the_next_is_out(way, q, load):
    """Row 5: q-1 accepted, q rejected; 0 accepted, -1 rejected."""
    network = load(way, [("a", "b", q - 1), ("b", "c", 0)], q)
    assert degrees(network) == ([q - 1, 0, 0], [0, q - 1, 0])
    refusal(lambda: load(way, [("a", "b", q - 1), ("b", "c", q)], q), "weight", str(q))
    refusal(lambda: load(way, [("a", "b", q - 1), ("b", "c", -1)], q), "weight", "-1")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weight", [2**24 + 1, 2**40 - 1, 2**40])
def test_row_6_large_degrees_are_exact(way, weight, load):
    """Row 6: exact integers; 2**24 + 1 is no float32, and 9 000 arcs of 2**40 - 1 pass 2**53."""
    n = 9000
    nodes = [f"v{k}" for k in range(n)]
    rows = [("v0", node, weight) for node in nodes[1:]]
    out_degree, in_degree = degrees(load(way, rows, 2**40 + 1, nodes))
    assert out_degree == [(n - 1) * weight] + [0] * (n - 1)
    assert in_degree == [0] + [weight] * (n - 1)


@pytest.mark.parametrize("way", WAYS)
def test_row_23_neither_row_order_nor_spelling_shows(way, load):
    """Row 23: identical degree vectors in either order of rows, weights as 1 or "1.0"."""
    rows = [("a", "b", 1), ("b", "c", 3), ("c", "a", 2), ("a", "c", 3)]
    expected = ([4, 3, 2], [2, 1, 6])
    assert degrees(load(way, rows, 4)) == expected
    assert degrees(load(way, rows[::-1], 4)) == expected
    if way != "sparse":
        assert degrees(load(way, [(i, j, f"{w}.0") for i, j, w in rows], 4)) == expected


@pytest.mark.parametrize("way", WAYS)
def test_row_28_directions_are_kept(way, load):
    """Row 28: a,b,1 and b,a,2: out a 1, b 2; in a 2, b 1."""
    assert degrees(load(way, [("a", "b", 1), ("b", "a", 2)], 3)) == ([1, 2, 0], [2, 1, 0])


@pytest.mark.parametrize("way", WAYS)
def test_row_31_a_pair_stands_once_or_is_summed_when_asked(way, load):
    """Row 31: error naming both lines; 3 with the sum at q = 4; out of range at q = 3."""
    rows = [("a", "b", 1), ("b", "c", 1), ("a", "b", 2)]
    message = refusal(lambda: load(way, rows, 4), "sum_duplicates")
    places = {"csv": ("row 2", "row 4"), "parquet": ("row 1", "row 3"), "graphml": ("edge 1", "3")}
    kind = way.removesuffix(".gz").rpartition(".")[2].replace("tsv", "csv")
    for place in places.get(kind, ()):
        assert place in message
    assert degrees(load(way, rows, 4, sum_duplicates=True)) == ([3, 1, 0], [0, 3, 1])
    refusal(lambda: load(way, rows, 3, sum_duplicates=True), "at most q-1 = 2", "got 3")
    clipped = load(way, rows, 3, sum_duplicates=True, clip=True)
    assert degrees(clipped) == ([2, 1, 0], [0, 2, 1])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wishes", [{}, {"clip": True}, {"sum_duplicates": False}])
def test_row_32_nothing_is_summed_unasked(way, wishes, load):
    """Row 32: never summed by default, through every loader option."""
    rows = [("a", "b", 1), ("a", "b", 2)]
    refusal(lambda: load(way, rows, 4, **wishes))
    refusal(lambda: load(way, [*rows[:1], *rows[:1]], 4, **wishes))


@pytest.mark.parametrize(
    "make", [np.asarray, *(sparse.csr_array, sparse.csr_matrix, sparse.coo_array)]
)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float16])
def test_row_34_sums_do_not_overflow(make, dtype):
    """Row 34: 299 arcs of weight 4 give 1196 per node, dense and sparse (uint8 gives 172)."""
    weights = np.full((300, 300), 4, dtype=dtype)
    np.fill_diagonal(weights, 0)
    network = make(weights) if dtype != np.float16 else make(weights.astype(np.float32))
    sums = p0.bidegree(network, q=5)
    assert set(sums.out_degree.tolist()) == set(sums.in_degree.tolist()) == {1196}


@pytest.mark.parametrize("way", WAYS)
def test_row_34_repeated_entries_do_not_overflow_either(way, load):
    """Row 34: 300 rows of weight 4 for one pair, summed on request: 1200."""
    rows = [("a", "b", 4)] * 300
    assert degrees(load(way, rows, 1201, sum_duplicates=True))[0] == [1200, 0, 0]


@pytest.mark.parametrize("way", WAYS)
def test_rows_35_and_47_self_loops_are_refused(way, load):
    """Row 35: a,a,1 rejected with its row; row 47: so no score divides by log 1 later."""
    message = refusal(lambda: load(way, [("a", "b", 1), ("a", "a", 1)], 3), "self-loop", "a")
    assert not way.startswith("friends.csv") or "row 3" in message


@pytest.mark.parametrize("way", ["friends.csv", "friends.tsv", "friends.graphml", "frame"])
def test_row_36_weights_may_arrive_as_text(way, load):
    """Row 36: quoted "1" is the integer 1; a weight typed as a string in GraphML too."""
    quote = '"{}"' if "sv" in way else "{}"
    rows = [("a", "b", quote.format("1")), ("b", "c", quote.format("2"))]
    assert degrees(load(way, rows, 3)) == ([1, 2, 0], [0, 1, 2])


@pytest.mark.parametrize(
    "weights",
    [
        [1, 2, Decimal(1)],
        [Decimal("1.00"), Decimal("2E+0"), "1"],
        [np.int8(1), np.float32(2), Fraction(1)],
        pd.Series([1, 2, 1], dtype="Int8"),
        pd.Series([1, 2, 1], dtype="category"),
        pd.Series(["1", "2", "1"], dtype="string"),
        pd.Series([1.0, 2.0, 1.0], dtype="float16"),
    ],
)
def test_row_37_the_type_of_the_weight_column_does_not_matter(weights):
    """Row 37: the same degrees as ints."""
    frame = pd.DataFrame({"source": ["a", "b", "c"], "target": ["b", "c", "a"]})
    frame["weight"] = (
        weights if isinstance(weights, pd.Series) else pd.Series(weights, dtype=object)
    )
    assert degrees(p0.as_network(frame, 3)) == ([1, 2, 1], [1, 1, 2])


def test_row_37_weights_under_another_name_are_not_ignored(tmp_path):
    """Row 37: a weight column that is not found must not become weights of 1 in silence."""
    path = tmp_path / "friends.csv"
    path.write_text("source,target,count\na,b,2\nb,c,1\n")
    refusal(lambda: p0.read_network(path, q=3), "weight", "'count'")
    refusal(lambda: p0.as_network(pd.read_csv(path), q=3), "weight", "'count'")
    graph = nx.DiGraph()
    graph.add_edge("a", "b", count=2)
    refusal(lambda: p0.as_network(graph, q=3, nodes=NODES), "weight", "'count'")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("bad", [0.5, 2.7, 1e-9])
def test_row_38_fractions_are_refused_with_their_row(way, bad, load):
    """Row 38: weights must be integers in 0..q-1, row named; clipping does not round."""
    for wishes in ({}, {"clip": True}):
        message = refusal(
            lambda wishes=wishes: load(way, [("b", "c", 1), ("a", "b", bad)], 4, **wishes),
            "weight must be a whole number",
            str(bad),
        )
        assert ("row " in message) or way in ("graph", "sparse") or "edge 2" in message


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("bad", [-1, -3])
def test_row_39_a_minus_sign_counts(way, bad, load):
    """Row 39: -1 rejected, not 1; clipped on request it is 0."""
    rows = [("a", "b", bad), ("b", "c", 1)]
    refusal(lambda: load(way, rows, 4), "weight", str(bad))
    assert degrees(load(way, rows, 4, clip=True)) == ([0, 1, 0], [0, 0, 1])


@pytest.mark.parametrize("header", [True, False])
def test_row_42_ids_from_1_to_11_are_eleven_nodes(header, tmp_path):
    """Row 42: ids 1..11 without a node list, and fit: 11 nodes."""
    rows = [
        (str(i), str(j), 1) for i in range(1, 12) for j in range(1, 12) if (j - i) % 11 in (1, 3)
    ]
    path = tmp_path / "ring.csv"
    path.write_text(as_csv(rows) if header else as_csv(rows).split("\n", 1)[1])
    network = p0.read_network(path, q=2)
    assert network.nodes == tuple(str(k) for k in range(1, 12))
    assert not network.nodes_given
    assert p0.fit(network.bidegree()).params.index[10] == "alpha[11]"


@pytest.mark.parametrize("ids", [["a", "b", "c"], ["1", "2", "3"], ["01", "1", "1e3"]])
def test_row_43_text_ids_and_a_third_column_are_read(ids, tmp_path):
    """Row 43: read with a header or without; otherwise one plain sentence says what is expected."""
    rows = [(ids[0], ids[1], 2), (ids[1], ids[2], 1)]
    path = tmp_path / "friends.csv"
    for text in (as_csv(rows), as_csv(rows).split("\n", 1)[1]):
        path.write_text(text)
        assert degrees(p0.read_network(path, q=3, nodes=ids)) == ([2, 1, 0], [0, 2, 1])
    path.write_text("".join(f"{i} {j} {w}\n" for i, j, w in rows))
    refusal(lambda: p0.read_network(path, q=3), "commas", "blanks")


@pytest.mark.parametrize("name", ["friends.csv", "friends.tsv", "friends.csv.gz"])
@pytest.mark.parametrize("header", [True, False])
def test_row_44_a_byte_order_mark_is_harmless(name, header, tmp_path):
    """Row 44: the same result as without the mark, glued to the header or to the first id."""
    text = FILES[name]([("a", "b", 2), ("b", "c", 1)], NODES)
    text = gzip.decompress(text) if name.endswith(".gz") else text
    text = text if header else text.split(b"\n", 1)[1]
    found = []
    for mark in (b"", b"\xef\xbb\xbf"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(mark + text) if name.endswith(".gz") else mark + text)
        network = p0.read_network(path, q=3)
        found.append((network.nodes, degrees(network)))
    assert found[0] == found[1] == (("a", "b", "c"), ([2, 1, 0], [0, 2, 1]))


def test_row_1_released_values_are_whole_numbers(tmp_path):
    """Row 1: integers only, for both mechanisms, in memory and on disk; none is written as 3.0."""
    network = p0.Network([[0, 1, 2], [1, 0, 0], [0, 2, 0]], q=3)
    for mechanism in ("laplace", "edge_flip"):
        z = p0.release(network, "0.5", mechanism=mechanism)
        z.write(tmp_path / mechanism)
        back = p0.read_release(tmp_path / mechanism)
        for sums in (z.out_degree, z.in_degree, back.out_degree, back.in_degree):
            assert sums.dtype == np.int64
        lines = (tmp_path / mechanism / "degrees.csv").read_text().splitlines()[1:]
        for cell in (cell for line in lines for cell in line.split(",")[1:]):
            assert str(int(cell)) == cell


def test_row_16_numpy_noise_says_that_it_is_no_release():
    """Row 16: "not a private release" where numpy noise is used: module, record and help."""
    from p0sim.cli.exploring import explore
    from p0sim.privacy import simulate

    assert "Nothing made here is a private release" in simulate.__doc__
    z = p0.simulate_release(p0.BiDegree([3, 1, 2], [2, 2, 2], q=3), 2, rng=np.random.default_rng(1))
    assert z.is_release is False
    assert "not a private release" in repr(z)
    assert "Not a release" in explore.__doc__


def test_row_26_what_has_no_seed_never_repeats():
    """Row 26: a thousand runs without a seed differ; with one they agree."""
    d = p0.BiDegree([3, 1, 2], [2, 2, 2], q=3)
    without = [seeded(None)[0] for _ in range(1000)]
    drawn = {p0.simulate_release(d, 1e-5, rng=rng).out_degree.tobytes() for rng in without}
    assert len(drawn) == 1000
    again = {p0.simulate_release(d, 0.1, rng=seeded(7)[0]).out_degree.tobytes() for _ in range(10)}
    assert len(again) == 1


ELSEWHERE = {
    "row 3": [
        "linkpred/test_ranking.py::test_at_a_huge_epsilon_the_list_is_the_top_k_by_score_in_order"
    ],
    "row 6": [
        "privacy/test_release.py::test_large_degrees_are_not_rounded",
        "privacy/test_exact_laplace.py::test_large_values_stay_exact",
    ],
    "row 8": [
        "privacy/test_exact_laplace.py::test_one_tenth_at_q_4",
        "privacy/test_exact_laplace.py::"
        "test_the_effective_epsilon_is_never_above_the_one_asked_for",
    ],
    "row 10": [
        "privacy/test_release.py::test_the_statement_names_neighbours_and_limits",
        "privacy/test_release_files.py::test_the_record_says_all_that_is_public_and_nothing_else",
    ],
    "row 11": ["privacy/test_release.py::test_no_seeded_generator_is_on_the_release_path"],
    "row 14": [
        "privacy/test_exact_laplace.py::"
        "test_values_near_the_end_of_64_bits_are_refused_and_never_change_sign"
    ],
    "row 15": [
        "privacy/test_ledger.py::test_decimal_epsilons_add_up_exactly",
        "privacy/test_ledger.py::"
        "test_it_is_json_lines_that_name_the_composition_and_are_only_added_to",
    ],
    "row 17": [
        "privacy/test_release.py::test_the_scale_comes_from_q_and_not_from_the_weights_in_use",
        "privacy/test_sensitivity.py::test_sensitivity_does_not_come_from_the_data",
    ],
    "row 19": [
        "cli/test_exploring.py::test_one_seed_one_table",
        "cli/test_fitting.py::test_one_seed_one_network_and_without_a_seed_another_each_time",
        "report/test_fit_figures.py::"
        "test_figures_are_written_without_a_warning_and_alike_each_time",
        "linkpred/test_mechanisms.py::test_one_seed_gives_one_list_and_another_seed_another",
        "test_global_random_state.py::test_a_public_call_leaves_the_global_generators_alone",
    ],
    "row 20": [
        "privacy/test_release.py::test_a_release_can_be_pickled",
        "studies/test_study.py::test_frames_are_the_same_bits_for_one_and_two_workers",
    ],
    "row 21": [
        "privacy/test_release.py::"
        "test_without_opendp_everything_else_works_and_a_release_says_what_is_missing"
    ],
    "row 24": [
        "privacy/test_discrete_laplace.py::test_share_of_zeros_at_q_2_epsilon_1",
        "privacy/test_discrete_laplace.py::test_control_rounded_continuous_laplace_is_found",
    ],
    "row 25": ["privacy/test_release.py::test_fresh_processes_give_different_releases"],
    "row 27": [
        "privacy/test_release.py::test_no_seeded_generator_is_on_the_release_path",
        "linkpred/test_ranking.py::test_the_secure_modules_have_no_seeded_randomness",
    ],
    "row 48": ["linkpred/test_scores.py::test_aa_of_a_path_and_of_nodes_without_common_neighbours"],
    "row 49": [
        "linkpred/test_scores.py::test_jaccard_of_two_isolated_nodes_is_zero_without_a_warning"
    ],
    "row 50": [
        "linkpred/test_graphs.py::"
        "test_a_directed_file_is_refused_with_its_row_and_joined_on_request"
    ],
    "row 52": ["engine/test_runner.py::test_workers_and_blocks_never_change_a_bit"],
    "row 54": ["privacy/test_simulate.py::test_tiny_epsilon_is_refused_and_never_noiseless"],
    "row 55": [
        "engine/test_runner.py::test_ctrl_c_stops_within_seconds_leaves_no_child_and_resumes"
    ],
    "row 57": [
        "engine/test_tuning.py::test_blas_and_numba_are_held_to_one_thread_and_set_free_again"
    ],
    "row 58": ["engine/test_store.py::test_two_live_runs_of_a_directory_are_refused"],
    "row 60": [
        "privacy/test_release_files.py::test_what_fails_half_way_leaves_nothing",
        "cli/test_releasing.py::test_a_disk_that_is_full_after_the_draw_says_what_is_spent",
        "engine/test_store.py::test_full_disk_leaves_no_file_of_the_block",
    ],
    "row 62": ["engine/test_design.py::test_written_or_computed_levels_are_one_cell_each"],
    "row 64": [
        "performance/test_measures.py::test_clopper_pearson_ends_are_the_printed_ones",
        "performance/test_measures.py::test_zero_of_zero_has_no_interval",
    ],
    "row 66": ["report/test_figures.py::test_figures_are_saved_whatever_backend_is_asked_for"],
    "row 67": [
        "report/test_figures.py::test_minus_signs_are_minus_signs",
        "report/test_figures.py::test_letters_that_the_font_lacks_are_one_warning",
    ],
    "row 68": ["report/test_figures.py::test_two_hundred_figures_leave_nothing_behind"],
}


@pytest.mark.parametrize("row", ELSEWHERE)
def test_the_tests_of_other_rows_are_there(row):
    assert [name for name in ELSEWHERE[row] if not is_a_test(name)] == []
