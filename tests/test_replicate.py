"""The plain types that experiments and the engine share."""

from __future__ import annotations

import hashlib
import pickle

import pytest

from p0sim.errors import InvalidStudyError
from p0sim.replicate import Cell, Outcome, hash_words


def test_unknown_status_is_refused():
    with pytest.raises(InvalidStudyError, match=r"status must be one of ok, .*; got 'fine'"):
        Outcome("fine")


def test_estimates_beside_a_failure_are_refused():
    with pytest.raises(InvalidStudyError, match="estimates must come with status ok; got 'error'"):
        Outcome("error", estimates=({"estimand": "mu"},))


def test_words_are_the_128_bit_hash_in_order():
    words = hash_words("paper")
    whole = int(hashlib.blake2b(b"paper", digest_size=16).hexdigest(), 16)
    assert sum(word << shift for word, shift in zip(words, (96, 64, 32, 0))) == whole


def test_cells_and_outcomes_pickle():
    cell = Cell("0f", {"n": 3}, {"n": "3"}, 5)
    outcome = Outcome("no_estimate", "out_degree of node 1 is 0")
    again = pickle.loads(pickle.dumps((cell, outcome)))
    assert again[0] == cell
    assert again[1].reason == outcome.reason
