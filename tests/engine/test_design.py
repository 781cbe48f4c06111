"""Study files: what they mean, and one clear line for whatever they do not."""

from __future__ import annotations

import copy
import math
import re

import pytest

from p0sim.engine.design import build_cells, parse_study, read_study_file
from p0sim.errors import InvalidStudyError
from tests.engine.fake import FakeExperiment

WHOLE = {
    "study": {"name": "c", "reps": 3, "seed": 1},
    "factors": {
        "n": [100, 200],
        "q": [2, 3],
        "L": ["0", "log(log(n))"],
        "epsilon": ["2", "log(n)/n^(1/4)"],
    },
    "methods": {"paper": {"margins": "drop_last"}},
}


def changed(**changes):
    """The whole file with `section__key=value` changed."""
    document = copy.deepcopy(WHOLE)
    for name, value in changes.items():
        section, _, key = name.partition("__")
        if key:
            document.setdefault(section, {})[key] = value
        else:
            document[section] = value
    return document


def cells_of(document, **options):
    return build_cells(parse_study(document), FakeExperiment(), **options)


def test_grid_is_full_in_file_order_last_factor_fastest():
    cells = cells_of(WHOLE)
    assert len(cells) == 16
    assert [tuple(cell.rules.values()) for cell in cells[:3]] == [
        ("100", "2", "0", "2"),
        ("100", "2", "0", "log(n)/n^(1/4)"),
        ("100", "2", "log(log(n))", "2"),
    ]
    assert {cell.target_reps for cell in cells} == {3}


def test_formula_is_evaluated_in_its_cell():
    cell = next(
        cell
        for cell in cells_of(WHOLE)
        if cell.factors["n"] == 200 and cell.rules["L"] == "log(log(n))"
    )
    assert cell.factors["L"] == pytest.approx(math.log(math.log(200)), rel=1e-11)


def test_formula_may_speak_of_another_formula_and_of_constants():
    document = {
        "study": {"name": "c", "reps": 1},
        "factors": {"epsilon": ["L*2"], "L": ["n/q"], "q": [4]},
    }
    (cell,) = cells_of(document, constants={"n": 58})
    assert cell.factors == {"epsilon": 29, "L": 14.5, "q": 4}


@pytest.mark.parametrize(
    "levels",
    [[0.1, 0.2, 0.3], [0.1, 0.2, 0.1 + 0.2], ["0.1", "2*0.1", "3*0.1"], [0.1, 0.2, "3*0.1", 0.3]],
)
def test_written_or_computed_levels_are_one_cell_each(levels):
    plain = cells_of(changed(factors={"n": [100], "L": [0.1, 0.2, 0.3]}))
    cells = cells_of(changed(factors={"n": [100], "L": levels}))
    assert [cell.id for cell in cells] == [cell.id for cell in plain]
    assert [cell.factors["L"] for cell in cells] == [0.1, 0.2, 0.3]


def test_rules_that_meet_in_a_cell_keep_the_first_way_it_was_written():
    cells = cells_of(changed(factors={"n": [100], "L": ["4/2", 2]}))
    assert [cell.rules["L"] for cell in cells] == ["4/2"]


def test_cell_ids_do_not_depend_on_order_or_other_levels():
    ids = {(tuple(sorted(cell.factors.items()))): cell.id for cell in cells_of(WHOLE)}
    shuffled = changed(
        factors={
            "epsilon": ["log(n)/n^(1/4)", "1", "2"],
            "q": [5, 3, 2],
            "n": [200, 100],
            "L": ["log(log(n))", "0"],
        }
    )
    again = {(tuple(sorted(cell.factors.items()))): cell.id for cell in cells_of(shuffled)}
    assert ids.items() <= again.items()
    assert len(set(again.values())) == len(again) == 36
    assert all(re.fullmatch("[0-9a-f]{10}", each) for each in again.values())


@pytest.mark.parametrize(
    "hole", [{"n": 200, "q": 3}, {"n": "100*2", "q": "3"}, {"q": 3.0, "n": 200.0}]
)
def test_hole_leaves_out_what_it_matches(hole):
    cells = cells_of(changed(factors__exclude=[hole]))
    assert len(cells) == 12
    assert not [c for c in cells if c.factors["n"] == 200 and c.factors["q"] == 3]


def test_hole_written_as_a_formula_matches_that_level_in_every_cell():
    cells = cells_of(changed(factors__exclude=[{"L": "log(log(n))"}]))
    assert {cell.rules["L"] for cell in cells} == {"0"}


def test_largest_seed_is_allowed():
    assert parse_study(changed(study__seed=2**128 - 1)).study.seed == 2**128 - 1


def test_sections_are_handed_on_untouched():
    sections = parse_study(WHOLE).sections
    assert sections["methods"] == WHOLE["methods"]
    assert sections["model"] == sections["estimands"] == sections["measures"] == {}


def test_the_most_that_a_stopping_rule_allows_stands_in_for_reps():
    measures = {"stop": {"coverage_mcse": 0.01, "max_reps": 900}}
    assert parse_study({"study": {"name": "c"}, "measures": measures}).study.reps == 900
    assert parse_study(changed(measures=measures)).study.reps == 3


@pytest.mark.parametrize(
    "stop", [{"coverage_mcse": 0.01}, {"max_reps": 0}, {"max_reps": "900"}, 900, None]
)
def test_a_rule_without_a_most_leaves_reps_needed(stop):
    with pytest.raises(InvalidStudyError, match="needs the key 'reps'"):
        parse_study({"study": {"name": "c"}, "measures": {"stop": stop}})


def test_no_factors_is_one_cell():
    assert len(cells_of({"study": {"name": "c", "reps": 1}})) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study__sed": 1}, "[study] has an unknown key 'sed'; did you mean 'seed'?"),
        ({"factor": {}}, "the study file has an unknown key 'factor'; did you mean 'factors'?"),
        ({"study": {"reps": 1}}, "[study] needs the key 'name'"),
        ({"study": []}, "[study] must be a table of keys and values; got []"),
        ({"study__seed": -1}, "[study] seed must be greater than or equal to 0; got -1"),
        ({"study__seed": 2**128}, "[study] seed must be less than"),
        ({"study__seed": 1.0}, "[study] seed must be a valid integer; got 1.0"),
        ({"study__reps": 0}, "[study] reps must be greater than or equal to 1; got 0"),
        ({"study__reps": True}, "[study] reps must be a valid integer; got True"),
        ({"study__name": "../up"}, "[study] name must match pattern"),
        ({"methods": 3}, "[methods] must be a table of keys and values; got 3"),
        ({"factors__n": 100}, "[factors] n must be a list of numbers or formulas; got 100"),
        ({"factors__n": []}, "[factors] n must be a list of numbers or formulas; got []"),
        ({"factors__n": [math.nan]}, "[factors] n must hold finite numbers"),
        ({"factors__L": [math.inf]}, "[factors] L must hold finite numbers"),
        ({"factors__n": [True]}, "[factors] n must hold finite numbers"),
        ({"factors__n": [10**400]}, "[factors] n must hold finite numbers"),
        ({"factors__n": [10.5]}, "[factors] n must hold whole numbers; got 10.5"),
        ({"factors__q": ["n/3"]}, "[factors] q must hold whole numbers; got 33.3333333333"),
        ({"factors__L": ["log(m)"]}, "[factors] L: 'log(m)' is not a formula: 'm' at position 5"),
        ({"factors__L": ["log(0)"]}, "[factors] L: 'log(0)' must have a finite value"),
        ({"factors__L": ["L"]}, "[factors] formulas must not go round in a circle: L -> L"),
        (
            {"factors__L": ["epsilon"], "factors__epsilon": ["L"]},
            "[factors] formulas must not go round in a circle: L -> epsilon -> L",
        ),
        ({"factors__status": [1]}, "[factors] 'status' cannot name a factor"),
        ({"factors__log": [1]}, "[factors] 'log' cannot name a factor"),
        ({"factors__L_rule": [1]}, "[factors] 'L_rule' cannot name a factor"),
        ({"factors__exclude": [{}]}, "[[factors.exclude]] must be tables naming factors"),
        ({"factors__exclude": {"n": 1}}, "[[factors.exclude]] must be tables naming factors"),
        (
            {"factors__exclude": [{"eps": 2}]},
            "[[factors.exclude]] has an unknown key 'eps'; did you mean 'epsilon'?",
        ),
        (
            {"factors__exclude": [{"n": 300, "q": 2}]},
            "[[factors.exclude]] n = 300, q = 2 matches no cell",
        ),
        ({"factors__exclude": [{"n": 100}, {"n": 200}]}, "[[factors.exclude]] leaves no cell"),
        ({"factors__n": [20, 30, 20]}, "[factors] n must not repeat a level; got 20 twice"),
        ({"factors__L": [0.1 * 3, 0.3]}, "[factors] L must not repeat a level; got 0.3000000"),
        ({"factors__L": [1, 1.0]}, "[factors] L must not repeat a level; got 1 twice"),
        ({"factors__L": [2, "2"]}, "[factors] L must not repeat a level; got 2 twice"),
        ({"factors__L": ["n/2", "n / 2"]}, "[factors] L must not repeat a level; got 'n/2' twice"),
        (
            {"factors__text": {"design": ["ring", "star", "ring"]}},
            "[factors.text] design must not repeat a level; got 'ring' twice",
        ),
    ],
)
def test_mistake_is_one_line_naming_key_place_and_rule(changes, message):
    with pytest.raises(InvalidStudyError, match=re.escape(message)) as caught:
        cells_of(changed(**changes))
    assert "\n" not in str(caught.value)


def test_factor_fixed_by_the_model_is_refused():
    with pytest.raises(InvalidStudyError, match=r"\[factors\] n is fixed by the model"):
        cells_of(WHOLE, constants={"n": 58})


def test_file_is_read(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('[study]\nname = "c"\nreps = 2\n[factors]\nn = [10]\nL = ["√"]\n', "utf-8")
    assert parse_study(WHOLE).study.name == read_study_file(path).study.name == "c"


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"[study]\nname = ", "is not valid TOML: Invalid value (at end of document)"),
        (b"[study]\nreps = 1\nreps = 2", "is not valid TOML: Cannot overwrite a value"),
        (b"\xff\xfe", "is not valid TOML: 'utf-8' codec"),
    ],
)
def test_broken_toml_is_one_line(tmp_path, payload, message):
    path = tmp_path / "study.toml"
    path.write_bytes(payload)
    with pytest.raises(InvalidStudyError, match=re.escape(message)) as caught:
        read_study_file(path)
    assert "\n" not in str(caught.value)


def test_directory_in_place_of_a_file_is_one_line(tmp_path):
    with pytest.raises(InvalidStudyError, match="cannot be read: Is a directory"):
        read_study_file(tmp_path)


def test_words_are_levels_as_they_stand():
    cells = cells_of(changed(factors={"n": [100], "text": {"graph": ["log(n)", "karate"]}}))
    assert [cell.factors["graph"] for cell in cells] == ["log(n)", "karate"]
    assert [cell.rules["graph"] for cell in cells] == ["log(n)", "karate"]


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ({"n": [1], "text": ["a"]}, r"\[factors.text\] must be a table of factors"),
        ({"n": [1], "text": {"n": ["a"]}}, "n must not be a factor of numbers too"),
        ({"text": {"n": ["a"]}}, "n must not be a factor of numbers too"),
        ({"m": [1], "text": {"m": ["a"]}}, "m must not be a factor of numbers too"),
        ({"n": [1], "text": {"graph": []}}, "graph must be a list of words"),
        ({"n": [1], "text": {"graph": [1]}}, "graph must be a list of words"),
        ({"n": [1], "text": {"graph": [" "]}}, "graph must be a list of words"),
        ({"n": [1], "text": {"log": ["a"]}}, "'log' cannot name a factor"),
        ({"n": [1], "graph": ["karate"]}, r"words go under \[factors.text\]"),
        ({"n": ["graph"], "text": {"graph": ["a"]}}, "'graph' at position 1 is not known"),
    ],
)
def test_words_in_the_wrong_place_are_refused(factors, message):
    with pytest.raises(InvalidStudyError, match=message):
        cells_of(changed(factors=factors))
