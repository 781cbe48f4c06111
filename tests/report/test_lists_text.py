"""The methods section of studies with lists: in order, and honest about what is protected."""

from __future__ import annotations

import pytest

from p0sim.report.lists_text import MECHANISMS, OF_DRAWS, list_method_sentence, own_score
from p0sim.report.methods_text import methods_paragraphs
from p0sim.report.page import page_text, write_report
from tests.report.fake_means import IDENTITY, LABELS, SPEC, means_material
from tests.report.test_page import Reader


@pytest.fixture(scope="module")
def paragraphs():
    return {part.title: part.text for part in methods_paragraphs(means_material())}


def test_paragraphs_come_in_ademp_order(paragraphs):
    assert list(paragraphs) == [
        "Aims", "Data-generating mechanisms", "Estimands", "Methods", "Performance measures",
    ]  # fmt: skip


def test_data_are_graphs_splits_queries_and_scores(paragraphs):
    said = paragraphs["Data-generating mechanisms"]
    assert "the undirected graphs usair and yeast of Table 2" in said
    assert "15 % of its neighbours and 15 % of its non-neighbours" in said
    assert "in at least one triangle of the full graph" in said
    assert "Candidates were scored by CN, the number of common neighbours; AA" in said
    assert "fully crossed: 12 cells" in said
    assert "epsilon (privacy loss of each list: 0.1, 1.0, 10.0)" in said
    assert "p0 model" not in said


def test_estimands_are_named_as_tables_name_them_and_have_no_truth(paragraphs):
    said = paragraphs["Estimands"]
    assert said.startswith("MAP (map): mean average precision")
    assert "larger by construction" not in said
    assert "mean over 10 draws" in said
    assert "None has a true value" in said
    assert "gamma" not in said


def test_methods_say_what_is_protected_what_is_not_and_which_are_not_private(paragraphs):
    said = paragraphs["Methods"]
    assert "one edge that is not at the query node" in said
    assert "Not protected are the edges at the query node" in said
    published = said.split("Published, not private: ")[1].split(". ")[0]
    assert "drawn in the same way" in published
    assert "sensitivity set to 0.0001 by hand" in published
    assert "not private at the epsilon stated" in published
    assert "sigma from Theorem 2 of the source" in published
    assert "compared with Uniform draw replicate by replicate" in said


def test_only_measures_that_have_a_value_are_listed(paragraphs):
    said = paragraphs["Performance measures"]
    assert "mean of the estimate" in said
    for word in ("bias", "coverage", "nominal level"):
        assert word not in said


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_can_be_told(mechanism):
    spec = {**SPEC, "mechanism": mechanism, "calibration": "exact"}
    said = list_method_sentence("m", spec, {"delta": 1e-5, "sensitivity": None})
    assert said.startswith("m: ")
    assert (OF_DRAWS.get(mechanism, {}).get("exact", "") in said) and "{" not in said


def test_a_score_without_a_proved_sensitivity_is_called_so():
    assert "no sensitivity is proved" in own_score("node2vec", {"node2vec": {"walks": 10}})


def test_lists_on_the_latent_space_graph_have_words_of_their_own():
    material = means_material()
    identity = {
        **IDENTITY,
        "experiment": "latent_space",
        "model": {
            "draws": 1, "delta": 1e-5, "sensitivity": None,
            "dimension": 2, "radius": 0.25, "queries": 20,
        },
    }  # fmt: skip
    cells = material.cells.drop(columns="dataset").assign(n=100)
    frame = material.performance.drop(columns="dataset").assign(n=100, n_rule="100")
    frame = frame.assign(estimand=frame["estimand"].replace("map", "loss"))
    changed = means_material(identity=identity, cells=cells, performance=frame)
    text = " ".join(part.text for part in methods_paragraphs(changed))
    assert "ball of unit volume in 2 dimensions" in text
    assert "less than 0.25 apart" in text
    assert "ranking loss (loss)" in text
    assert "All methods saw the same graphs." in text


def test_the_page_shows_map_first_and_what_epsilon_is(tmp_path):
    path = write_report(means_material(), tmp_path)
    reader = Reader(path.read_text("utf-8"))
    assert not reader.faults
    said = reader.text
    assert said.index("MAP usair") < said.index("queries used usair")
    assert "What epsilon is here, and what it buys" in said
    assert "Figures show MAP and MAP as published" in said
    assert "nominal level" not in said
    assert "Comparison with theory" not in said
    assert page_text.__doc__ and LABELS["map"] == "MAP"
