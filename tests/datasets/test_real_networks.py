"""The 23 directed networks without signs in the data folder, and the signed one.

Expected: size, levels, zero degrees and existence as the folder's own table lists them; the table
was made with other code, existence by a linear program. Degrees are summed here row by row.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

import p0sim as p0
from tests.oracles.refusals import refusal

# name, n, arcs, q, zero out-degrees, zero in-degrees, does an estimate exist
LISTED = [
    ("sampson_liking_t1", 18, 55, 4, 0, 0, True),
    ("sampson_liking_t2", 18, 57, 4, 0, 0, True),
    ("sampson_liking_t3", 18, 56, 4, 0, 1, False),
    ("sampson_liking_count", 18, 88, 4, 0, 0, True),
    ("eies_acquaintance_t2", 32, 759, 5, 0, 0, True),
    ("eies_messages", 32, 440, 560, 0, 0, True),
    ("bk_fraternity_recall", 58, 3306, 6, 0, 0, True),
    ("bk_office_recall", 40, 1558, 40, 0, 0, True),
    ("residence_hall", 217, 2672, 6, 1, 2, False),
    ("macaque_dominance", 62, 1187, 10, 2, 1, False),
    ("manufacturing_email", 167, 5783, 1459, 13, 27, False),
    ("uc_irvine_messages", 1899, 20296, 99, 549, 37, False),
    ("newcomb_first_week", 17, 272, 17, 0, 0, True),
    ("highschool_friends", 73, 366, 3, 3, 6, False),
    ("lazega_multiplex", 71, 1574, 4, 0, 0, True),
    ("lazega_advice", 71, 892, 2, 1, 1, False),
    ("physicians", 246, 1099, 2, 29, 27, False),
    ("bk_ham_radio_recall", 44, 621, 10, 2, 0, False),
    ("kapferer_instrumental", 39, 211, 3, 1, 1, False),
    ("celegans_neural", 297, 2345, 71, 3, 27, False),
    ("email_eu_core", 1005, 24929, 2, 181, 40, False),
    ("advogato", 6541, 47135, 4, 2532, 2119, False),
    ("drosophila_mb_left", 209, 7425, 64, 24, 59, False),
]


def file_of(folder: Path, name: str) -> Path:
    (path,) = folder.glob(f"{name}.csv*")
    return path


def rows_of(path: Path) -> list[tuple[str, str, int]]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return [(i, j, int(weight)) for i, j, weight in list(csv.reader(text.splitlines()))[1:]]


@pytest.mark.parametrize(
    ("name", "n", "arcs", "q", "zero_out", "zero_in", "exists"), LISTED, ids=[x[0] for x in LISTED]
)
def test_it_loads_as_listed_and_has_an_estimate_where_listed(
    name, n, arcs, q, zero_out, zero_in, exists, network_data
):
    path = file_of(network_data, name)
    nodes = [str(k) for k in range(n)]
    network = p0.read_network(path, q=q, nodes=nodes)
    degrees = network.bidegree()
    assert (network.n, network.q, network.weights.nnz) == (n, q, arcs)
    assert (network.source, network.nodes_given) == (path.resolve(), True)
    sent, received = Counter(), Counter()
    for i, j, weight in rows_of(path):
        sent[i] += weight
        received[j] += weight
    assert degrees.out_degree.tolist() == [sent[node] for node in nodes]
    assert degrees.in_degree.tolist() == [received[node] for node in nodes]
    assert (degrees.out_degree == 0).sum() == zero_out
    assert (degrees.in_degree == 0).sum() == zero_in
    assert p0.existence(degrees).exists == exists


def test_q_as_listed_is_the_smallest_that_holds_the_weights(network_data):
    """Weights reach q-1, so that one level less is refused."""
    for name, n, _, q, *_ in LISTED:
        if q > 2:
            nodes = [str(k) for k in range(n)]
            path = file_of(network_data, name)
            message = refusal(partial(p0.read_network, path, q - 1, nodes), "weight")
            assert f"got '{q - 1}' in row " in message


def test_signed_ratings_are_refused_with_their_row(network_data):
    """bitcoin_otc holds -10..10: the first negative rating is named."""
    path = file_of(network_data, "bitcoin_otc")
    rows = rows_of(path)
    first = next(k for k, (_, _, weight) in enumerate(rows) if weight < 0)
    nodes = [str(k) for k in range(5881)]
    refusal(
        lambda: p0.read_network(path, q=11, nodes=nodes),
        f"got '{rows[first][2]}' in row {first + 2} ",
    )
