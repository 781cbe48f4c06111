"""Whether a loss falls with n, in words: numbers of the study's own rows."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from p0sim.report.growth_note import Growth, conclusion, growth_sentences
from p0sim.report.quantities import quantities_of
from tests.report.fake_material import fake_material
from tests.report.fake_means import growing_material, means_material


@pytest.fixture(scope="module")
def material():
    return growing_material()


def mean_of(material, method, epsilon, n):
    """Mean and error of the loss, read off the frame."""
    rows = material.performance
    mine = rows[
        (rows["method"] == method) & (rows["epsilon"] == epsilon) & (rows["n"] == n)
        & (rows["estimand"] == "loss") & (rows["measure"] == "mean")
    ]  # fmt: skip
    return mine["value"].item(), mine["mcse"].item()


def test_other_studies_have_none():
    assert growth_sentences(fake_material()) == ()
    assert growth_sentences(means_material()) == ()
    assert growth_sentences(growing_material(sizes=(100,))) == ()


def test_each_epsilon_has_both_ends_and_their_difference(material):
    """Oracle: the frame, and the root of the sum of two squared errors."""
    first, last = (mean_of(material, "sharp", 1.0, n) for n in (100, 400))
    error = math.sqrt(first[1] ** 2 + last[1] ** 2)
    said = growth_sentences(material)[1]
    assert said.startswith("sharp: epsilon = 1, ")
    numbers = said.removeprefix("sharp: epsilon = 1, ").split(": ")[0]
    told = [float(part) for part in numbers.replace("(", "").replace(")", "").replace(",", "")
            .replace("and ", "").split()]  # fmt: skip
    expected = [*first, *last, last[0] - first[0], error]
    assert told == pytest.approx(expected, rel=0.5, abs=0.006)


def test_a_fall_is_said_where_it_is_and_only_there(material):
    _, private, without_noise, conclusion = growth_sentences(material)
    assert private.count("it falls") == 1 and private.endswith("it falls.")
    assert "no change is told from chance; epsilon = 10" in private
    assert without_noise.startswith("nonprivate: ") and "it falls" in without_noise
    assert "up to n = 400" in conclusion and "that of sharp at epsilon = 1 is not" in conclusion


def test_the_conclusion_is_of_the_methods_that_stay_and_no_others(material):
    sizes = {"stays": ((0.2, 0.01), (0.2, 0.01)), "falls": ((0.2, 0.01), (0.1, 0.01))}
    found = [
        Growth("one", 0.1, *sizes["stays"]),
        Growth("one", 1, *sizes["stays"]),
        Growth("two", 0.1, *sizes["stays"]),
        Growth("two", 1, *sizes["falls"]),
        Growth("three", 0.1, *sizes["falls"]),
        Growth("without", None, *sizes["falls"]),
    ]
    said = conclusion(found, quantities_of(material.identity)[0], "400")
    assert "that of one at epsilon = 0.1 and 1 and two at epsilon = 0.1 is not seen to" in said
    assert "three" not in said


def test_where_every_loss_falls_nothing_is_concluded(material):
    rows = material.performance
    falling = (rows["n"] == 400) & (rows["method"] == "sharp") & (rows["measure"] == "mean")
    better = replace(material, performance=rows.assign(value=rows["value"].mask(falling, 0.001)))
    assert growth_sentences(better)[-1] == ""


def test_without_an_error_nothing_is_told(material):
    single = replace(material, performance=material.performance.assign(mcse=math.nan))
    said = growth_sentences(single)
    assert "without a Monte Carlo standard error nothing is told" in said[1]
    assert said[-1] == ""
