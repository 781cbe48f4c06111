"""The reference of a study file: every key that there is, with its default, and no other."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from p0sim.engine.design import EXCLUDE, SECTIONS, TEXT, StudySection
from p0sim.experiments.graph_sources import GraphSection
from p0sim.experiments.latent_space import LatentSpace, LatentSpaceSection
from p0sim.experiments.link_prediction import LinkPrediction, LinkPredictionSection
from p0sim.experiments.private_p0 import EPSILON
from p0sim.experiments.rankings import DEFAULTS, RankingSection
from p0sim.experiments.registry import EXPERIMENTS
from p0sim.experiments.score_sources import Node2VecSection, ProtocolSection
from p0sim.experiments.sections import (
    CallSection,
    ContrastSection,
    EstimandsSection,
    LabelSection,
    MeasuresSection,
    MethodSection,
    ModelSection,
    StopSection,
)
from p0sim.experiments.truth import LinearTruth
from p0sim.linkpred.scores import BUILT_IN
from tests.docs.pages import blocks_of

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "study-file.md").read_text("utf-8")
KEYS, FACTORS = ("key", "what it does", "values", "default"), "factor"

# What each table of keys shows, by heading; [estimands] has one of its entries below its own.
MODELS: dict[tuple[str, int], tuple[type[BaseModel], ...]] = {
    ("[study]", 1): (StudySection,),
    ("[model]", 1): (ModelSection,),
    ("[estimands]", 1): (EstimandsSection,),
    ("[estimands]", 2): (ContrastSection,),
    ("[methods.NAME]", 1): (MethodSection, CallSection),
    ("[measures]", 1): (MeasuresSection,),
    ("[measures.stop]", 1): (StopSection,),
    ("[methods.NAME] of both", 1): (RankingSection,),
    ("[model] of link_prediction", 1): (LinkPredictionSection,),
    ("[model.graphs.NAME]", 1): (GraphSection,),
    ("[model.protocols.NAME]", 1): (ProtocolSection,),
    ("node2vec of a protocol", 1): (Node2VecSection,),
    ("[model] of latent_space", 1): (LatentSpaceSection,),
    ("Own experiments", 1): (LabelSection,),
}
# of a method of ours and of one with `call`, which is no method without it
NEEDED_BESIDE_OTHERS = {"call"}


class Table(NamedTuple):
    """A table of the page: the heading it stands under, its head, and its rows by first cell."""

    heading: str
    head: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]


def tables_of(page: str) -> list[Table]:
    heading, found, lines = "", [], iter(without_code(page).split("\n"))
    for line in lines:
        if line.startswith("#"):
            heading = line.lstrip("# ").replace("`", "")
        elif line.startswith("|"):
            next(lines)
            found.append(Table(heading, cells_of(line), dict(_rows(lines))))
    return found


def _rows(lines: Iterator[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in lines:
        if not line.startswith("|"):
            return
        first, *others = cells_of(line)
        yield first.strip("`"), tuple(others)


def without_code(page: str) -> str:
    return re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S)


def cells_of(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip("|").split("|"))


def keys_shown(page: str) -> dict[tuple[str, int], dict[str, tuple[str, ...]]]:
    """Rows of the tables of keys by heading, and by number under it."""
    found: dict[tuple[str, int], dict[str, tuple[str, ...]]] = {}
    for table in tables_of(page):
        if table.head == KEYS:
            number = 1 + sum(heading == table.heading for heading, _ in found)
            found[table.heading, number] = table.rows
    return found


def fields_of(models: tuple[type[BaseModel], ...]) -> dict[str, FieldInfo]:
    return {name: field for model in models for name, field in model.model_fields.items()}


def default_shown(name: str, field: FieldInfo) -> object:
    """What the page should say: a value as TOML has it, or a word where there is none."""
    if field.is_required():
        return "none" if name in NEEDED_BESIDE_OTHERS else "needed"
    value: object = field.get_default(call_default_factory=True, validated_data={})
    return "none" if value is None or value == {} else value


def default_read(text: str) -> object:
    """`0.95` as the number, "needed" and "none" as they are."""
    if text in ("needed", "none"):
        return text
    assert text.startswith("`"), text
    return tomllib.loads(f"value = {text.strip('`')}")["value"]


def choices(annotation: Any) -> tuple[str, ...]:
    """The words a key may hold, where it may hold some words alone; true and false among them."""
    if annotation is bool:
        return ("true", "false")
    if get_origin(annotation) is Literal:
        return tuple(f'"{word}"' for word in get_args(annotation))
    if get_origin(annotation) in (Union, UnionType, Annotated):
        return tuple(word for part in get_args(annotation) for word in choices(part))
    return ()


def faults(page: str) -> list[str]:
    """Where a page and the models are not of one mind."""
    shown, found = keys_shown(page), []
    found += [f"no models for {place}" for place in shown.keys() - MODELS.keys()]
    for place, models in MODELS.items():
        rows, fields = shown.get(place, {}), fields_of(models)
        found += [f"{place}: {name} is on one side only" for name in rows.keys() ^ fields.keys()]
        for name in rows.keys() & fields.keys():
            _, values, default = rows[name]
            wanted, read = default_shown(name, fields[name]), default_read(default)
            if (read, type(read) is bool) != (wanted, type(wanted) is bool):
                found.append(f"{place}: {name} has the default {wanted!r}; got {default}")
            words = set(re.findall(r"`([^`]+)`", values))
            offered = choices(fields[name].annotation)
            if offered and words != set(offered):
                found.append(f"{place}: {name} may be {offered}; got {values}")
    return found


def test_every_key_stands_on_the_page_with_its_default_and_its_choices():
    assert faults(PAGE) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("| `level` |", "| `levels` |", "on one side only"),
        ("`0.95`", "`0.9`", "has the default 0.95"),
        ('`"newton"` |\n', "needed |\n", "has the default 'newton'"),
        ('`"newton"`, `"fixed_point"`', '`"newton"`', "may be"),
        ("## `[model]`", "## `[modell]`", "no models for"),
    ],
    ids=["another name", "another number", "needed", "a choice less", "a table of nothing"],
)
def test_a_page_that_says_anything_else_fails(old, new, fault):
    assert old in PAGE
    assert any(fault in line for line in faults(PAGE.replace(old, new)))


def test_every_section_and_every_experiment_has_its_place():
    for name in ("study", "factors", *SECTIONS):
        assert f"\n## `[{name}" in PAGE, name
    for name in (f"[[factors.{EXCLUDE}]]", f"[factors.{TEXT}]", "[measures.pool]"):
        assert f"\n### `{name}`" in PAGE, name
    values = keys_shown(PAGE)["[study]", 1]["experiment"][1]
    assert all(f'`"{name}"`' in values for name in EXPERIMENTS)


def factors_shown() -> list[dict[str, tuple[str, ...]]]:
    return [table.rows for table in tables_of(PAGE) if table.head[0] == FACTORS]


def test_the_factors_of_each_experiment_are_those_it_takes():
    """Oracle for lists: what the two experiments themselves call unknown, one name at a time."""
    private, lists = factors_shown()
    assert set(private) == {*LinearTruth().needs, EPSILON}
    for name in lists:
        takes = [_takes(experiment, name) for experiment in (LinkPrediction, LatentSpace)]
        alone = re.search(r"`(\w+)` alone", lists[name][0])
        wanted = ["link_prediction", "latent_space"] if alone is None else [alone[1]]
        assert takes == ["link_prediction" in wanted, "latent_space" in wanted], name
    known = _complaint(LinkPrediction, "no_such_factor") + _complaint(LatentSpace, "no_such_factor")
    offered = {
        name for part in re.findall(r"known here: ([\w, ]+)", known) for name in part.split(", ")
    }
    assert set(lists) == offered


def _takes(experiment: Any, name: str) -> bool:
    return "unknown key" not in _complaint(experiment, name)


def _complaint(experiment: Any, name: str) -> str:
    try:
        experiment.from_sections({}, [name], Path())
    except ValueError as error:
        return str(error)
    return ""


def test_what_is_taken_where_a_factor_is_left_out_is_said():
    _, lists = factors_shown()
    for name, value in DEFAULTS.items():
        assert f"`{value}`" in lists[name][2], name
    assert set(re.findall(r"`(\w+)`", lists["protocol"][1])) == set(BUILT_IN)


def test_every_key_that_the_text_sets_is_a_key():
    """`release = false` within a sentence; factors and pools have names of one's own."""
    known = {name for models in MODELS.values() for name in fields_of(models)}
    own = {"design", "senders", "L", "epsilon", "n"}
    assert set(re.findall(r"`(\w+) = [^`]+`", without_code(PAGE))) <= known | own


def test_the_example_uses_every_section_of_the_main_experiment():
    example = next(block for block in blocks_of(PAGE) if block.caption == "example.toml")
    document = tomllib.loads(example.text)
    assert set(document) == {"study", "factors", *SECTIONS}
    assert document["factors"][EXCLUDE]
    assert {"release", "margins", "variance", "mechanism", "reference"} <= {
        key for table in document["methods"].values() for key in table
    }
