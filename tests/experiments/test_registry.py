"""Which experiment a study file gets by the name it writes."""

from __future__ import annotations

import pytest

from p0sim.errors import InvalidStudyError
from p0sim.experiments.custom import CustomExperiment
from p0sim.experiments.private_p0 import PrivateP0
from p0sim.experiments.registry import load_experiment

FACTORS = ("n", "q", "L", "epsilon")


def test_a_name_is_ours_and_a_file_is_the_users(tmp_path):
    (tmp_path / "mine.py").write_text("def replicate(cell, streams):\n    return []\n")
    ours = load_experiment("private_p0", {"methods": {"balanced": {}}}, FACTORS, tmp_path)
    theirs = load_experiment("mine.py:replicate", {}, (), tmp_path)
    assert isinstance(ours, PrivateP0)
    assert isinstance(theirs, CustomExperiment)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("private_po", "did you mean 'private_p0'"),
        ("private_po", 'or FILE.py:FUNCTION, for example "my_study.py:replicate"'),
        ("mine.py", "[study] experiment: must be FILE.py:FUNCTION"),
        ("mine.py:replicate", "[study] experiment: mine.py cannot be read: No such file"),
    ],
)
def test_an_unknown_experiment_is_refused_with_both_forms(name, words, tmp_path):
    with pytest.raises(InvalidStudyError) as caught:
        load_experiment(name, {}, FACTORS, tmp_path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
