"""The rules of a release, one entry a row of their list, and the tests that hold each.

What no other file tests is tested here. The rows, and how the wrong thing looks:

 1  numpy noise, whose float tails end, used as a release
 2  an epsilon that is no positive exact number of at least 1e-6, or "no noise"
 3  q, n or the node list read off the data
 4  the order of the file's rows in the output
 5  weights outside 0..q-1, or not whole; clipping unasked
 6  a pair twice, a self-loop, an unknown node; adding up unasked
 7  ids and first rows changed by a reader
 8  sums, or sums and noise, beyond their integers
 9  released values clamped, rounded or made equal
10  epsilon spent twice, overspent, or lost by a crash
11  a seed, a generator's state or a hash of the input in a written file
12  data in public output
13  true degrees left anywhere; a fit that needs the network
14  an epsilon without its neighbours
15  an epsilon as a float
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path

import pytest

import p0sim as p0
from tests.oracles.named import is_a_test
from tests.oracles.refusals import refusal
from tests.test_cases import FILES, NODES, OBJECTS

RULES = {
    "row 1": [
        "privacy/test_release.py::test_no_seeded_generator_is_on_the_release_path",
        "privacy/test_release.py::test_control_a_seeded_generator_would_be_found",
        "privacy/test_exact_laplace.py::test_draws_follow_the_law",
        "privacy/test_simulate.py::test_tiny_epsilon_is_refused_and_never_noiseless",
    ],
    "row 2": [
        "privacy/test_exact_epsilon.py::test_it_must_be_positive_and_finite",
        "privacy/test_exact_epsilon.py::test_it_must_be_at_least_one_millionth",
        "privacy/test_exact_epsilon.py::test_text_of_another_form_is_refused",
        "privacy/test_exact_epsilon.py::test_a_float_is_refused_with_the_text_to_write",
        "privacy/test_exact_epsilon.py::test_other_kinds_are_refused",
        "privacy/test_release.py::test_a_wrong_epsilon_is_refused_and_nothing_spent",
        "privacy/test_release.py::test_an_epsilon_of_another_kind_is_refused",
        "privacy/test_exact_laplace.py::test_a_scale_out_of_reach_is_refused",
    ],
    "row 3": [
        "privacy/test_release_rules.py::test_row_3_no_way_in_can_be_released_without_a_node_list",
        "privacy/test_release.py::test_nodes_read_off_the_edges_are_refused",
        "cli/test_releasing.py::test_q_nodes_epsilon_and_a_folder_must_be_given",
        "model/test_networks.py::test_q_is_never_read_off_the_data",
    ],
    "row 4": [
        "cli/test_releasing.py::"
        "test_the_degrees_are_those_of_the_network_in_the_order_of_the_node_list",
        "cli/test_releasing.py::"
        "test_rows_in_another_order_and_weights_written_1_0_are_the_same_network",
    ],
    "row 5": [
        "model/test_edge_files.py::test_bad_weights_are_refused_with_their_row",
        "model/test_graph_files.py::test_bad_weights_are_refused_with_the_number_of_the_edge",
        "model/test_parquet_files.py::test_bad_weights_are_named_with_their_row",
        "cli/test_releasing.py::test_errors_in_the_data_name_their_row",
        "cli/test_releasing.py::test_clip_is_recorded_without_a_count",
    ],
    "row 6": [
        "test_cases.py::test_row_31_a_pair_stands_once_or_is_summed_when_asked",
        "test_cases.py::test_rows_35_and_47_self_loops_are_refused",
        "model/test_edge_files.py::test_duplicate_pairs_are_refused_with_both_rows",
        "model/test_edge_files.py::test_unknown_nodes_are_refused_with_their_row",
        "cli/test_releasing.py::test_sum_duplicates_adds_up_when_asked",
    ],
    "row 7": [
        "model/test_table_files.py::test_labels_are_verbatim",
        "model/test_graph_files.py::test_ids_are_verbatim",
        "model/test_parquet_files.py::test_text_ids_are_verbatim",
        "model/test_edge_files.py::test_labels_of_a_node_list_are_verbatim",
        "model/test_edge_files.py::test_headerless_numbers_keep_their_first_row",
        "model/test_table_files.py::test_a_first_row_that_says_nothing_is_never_dropped",
        "test_cases.py::test_row_44_a_byte_order_mark_is_harmless",
    ],
    "row 8": [
        "test_cases.py::test_row_34_sums_do_not_overflow",
        "test_cases.py::test_row_34_repeated_entries_do_not_overflow_either",
        "privacy/test_release.py::test_noise_that_could_leave_64_bits_is_refused_before_anything",
        "privacy/test_exact_laplace.py::"
        "test_values_near_the_end_of_64_bits_are_refused_and_never_change_sign",
    ],
    "row 9": [
        "privacy/test_release.py::test_released_values_are_raw_whole_numbers",
        "privacy/test_release_files.py::"
        "test_released_values_are_written_as_whole_numbers_in_the_order_of_the_node_list",
    ],
    "row 10": [
        "privacy/test_audit.py::test_control_a_mechanism_that_loses_more_is_found",
        "privacy/test_ledger.py::test_decimal_epsilons_add_up_exactly",
        "privacy/test_ledger.py::test_over_budget_is_refused_and_nothing_entered",
        "privacy/test_ledger.py::test_the_entry_is_on_disk_before_spending_returns",
        "privacy/test_ledger.py::test_a_line_cut_off_anywhere_never_loses_what_it_spent",
        "privacy/test_ledger.py::test_processes_that_race_never_overspend",
        "cli/test_releasing.py::test_commands_that_race_never_overspend",
        "cli/test_releasing.py::"
        "test_a_release_killed_at_the_draw_counts_as_spent_and_leaves_no_degree",
        "cli/test_releasing.py::test_a_real_kill_in_the_middle_of_a_long_draw_counts_as_spent",
        "privacy/test_release.py::test_reading_a_release_costs_nothing",
    ],
    "row 11": [
        "privacy/test_release_rules.py::test_row_11_no_written_file_holds_a_hash_of_the_input",
        "privacy/test_release_files.py::test_the_record_says_all_that_is_public_and_nothing_else",
        "privacy/test_release.py::test_there_is_no_seed_argument_anywhere",
        "privacy/test_release.py::test_fresh_processes_give_different_releases",
    ],
    "row 12": [
        "cli/test_releasing.py::test_neighbours_give_the_same_bytes_but_for_released_values",
        "cli/test_releasing.py::test_errors_in_the_data_go_to_the_curator_only",
    ],
    "row 13": [
        "privacy/test_release_rules.py::test_row_13_nothing_is_written_but_the_release",
        "privacy/test_release_files.py::test_a_release_directory_holds_two_files_and_nothing_else",
        "cli/test_releasing.py::test_no_file_but_the_network_holds_a_true_degree",
        "cli/test_releasing.py::test_control_a_true_degree_would_be_found",
        "cli/test_fitting.py::"
        "test_with_the_network_deleted_a_release_is_fitted_tested_and_made_synthetic",
    ],
    "row 14": [
        "privacy/test_release.py::test_the_statement_names_neighbours_and_limits",
        "privacy/test_release_files.py::test_the_record_says_all_that_is_public_and_nothing_else",
        "inference/test_noise_cost.py::"
        "test_a_fit_to_a_release_says_what_was_released_and_that_it_costs_nothing",
    ],
    "row 15": [
        "privacy/test_exact_epsilon.py::test_decimals_and_fractions_are_read_exactly",
        "privacy/test_exact_epsilon.py::test_a_decimal_is_not_the_float_that_looks_like_it",
        "privacy/test_exact_laplace.py::"
        "test_the_effective_epsilon_is_never_above_the_one_asked_for",
    ],
    "the law": [
        "privacy/test_exact_laplace.py::test_share_of_zeros_and_variance_are_those_worked_out",
        "privacy/test_discrete_laplace.py::test_known_numbers",
        "privacy/test_exact_laplace.py::test_draws_follow_the_law",
        "privacy/test_audit.py::test_the_largest_log_ratio_is_epsilon_and_never_above",
        "privacy/test_sensitivity.py::test_sensitivity_is_attained_and_never_passed",
        "privacy/test_audit.py::test_the_release_passes_the_audit",
        "privacy/test_audit.py::test_control_a_mechanism_that_loses_more_is_found",
        "privacy/test_audit.py::test_control_noise_for_one_side_only_costs_twice_as_much",
    ],
    "the sampler": [
        "privacy/test_exact_laplace.py::test_one_tenth_at_q_4",
        "privacy/test_exact_laplace.py::test_a_vector_of_another_length_is_refused",
        "privacy/test_exact_laplace.py::test_a_scale_out_of_reach_is_refused",
        "privacy/test_release.py::test_a_release_can_be_pickled",
    ],
    "check": ["cli/test_releasing.py::test_check_spends_and_writes_nothing"],
    "output": ["privacy/test_release_files.py::test_an_existing_directory_is_never_overwritten"],
    "ledger": [
        "cli/test_releasing.py::test_ledger_shows_what_was_spent_and_what_is_left",
        "privacy/test_release.py::test_a_network_from_a_file_enters_its_own_ledger",
        "privacy/test_release.py::test_a_network_from_memory_has_the_ledger_it_is_given",
    ],
    "budget": ["privacy/test_ledger.py::test_the_budget_is_set_the_first_time_and_stays"],
    "fit": [
        "cli/test_fitting.py::test_noise_is_never_ignored_in_silence",
        "privacy/test_release_files.py::test_noise_is_never_ignored_in_silence",
    ],
}


@pytest.mark.parametrize("rule", RULES)
def test_the_tests_of_a_rule_are_there(rule):
    assert [name for name in RULES[rule] if not is_a_test(name)] == []


def test_control_a_test_that_is_not_there_is_missed():
    assert not is_a_test("privacy/test_release_rules.py::test_of_nothing")
    assert not is_a_test("privacy/test_release_rules.py::RULES")


@pytest.mark.parametrize("way", [*FILES, *OBJECTS])
def test_row_3_no_way_in_can_be_released_without_a_node_list(way, tmp_path):
    """A matrix has as many nodes as rows, whatever the arcs; its size is said, not read off."""
    rows = [("a", "b", 1), ("b", "c", 2)]
    if way in FILES:
        (tmp_path / way).write_bytes(FILES[way](rows, NODES))
        network = p0.read_network(tmp_path / way, q=3)
    else:
        network = p0.as_network(OBJECTS[way](rows, NODES), q=3)
    for given in (network, network.bidegree()):
        if way == "sparse":
            assert p0.release(given, 1).n == 3
        else:
            refusal(partial(p0.release, given, 1), "nodes must be given for a release")
    assert not list(tmp_path.glob("*.ledger*"))


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Path:
    """A release by the command line, with places of its own for temporary and personal files."""
    folder = tmp_path_factory.mktemp("released")
    for name in ("temporary", "home", "work"):
        (folder / name).mkdir()
    work = folder / "work"
    (work / "friends.csv").write_text("source,target,weight\na,b,1\nb,c,2\n")
    (work / "nodes.txt").write_text("a\nb\nc\n")
    places = {"HOME": "home", "XDG_CACHE_HOME": "home", "MPLCONFIGDIR": "home"}
    places |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), "temporary")
    code = "from p0sim.cli.main import main; main()"
    given = ["release", "friends.csv", "--q", "3", "--nodes", "nodes.txt", "--epsilon", "0.5"]
    environment = os.environ | {name: str(folder / place) for name, place in places.items()}
    command = [sys.executable, "-c", code, *given, "-o", "out"]
    subprocess.run(command, cwd=work, env=environment, capture_output=True, check=True)
    return folder


def files_below(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_row_13_nothing_is_written_but_the_release(released):
    """Neither in folders for temporary files nor in the user's own."""
    assert [name for name in files_below(released) if not name.endswith(".lock")] == [
        "work/friends.csv",
        "work/friends.csv.ledger",
        "work/nodes.txt",
        "work/out/degrees.csv",
        "work/out/release.json",
    ]


def hashes(content: bytes) -> set[str]:
    found = {hashlib.new(name, content).hexdigest() for name in ("md5", "sha1", "sha256", "sha512")}
    return found | {f"{zlib.crc32(content):08x}", str(zlib.crc32(content))}


def test_row_11_no_written_file_holds_a_hash_of_the_input(released):
    """Nor anything that looks like one: no word of 32 or more hexadecimal digits."""
    known = hashes((released / "work/friends.csv").read_bytes())
    for name in files_below(released):
        if name not in ("work/friends.csv", "work/nodes.txt"):
            text = (released / name).read_text()
            assert not any(value in text for value in known)
            assert not re.search(r"\b[0-9a-f]{32,}\b", text)
