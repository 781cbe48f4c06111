"""Any stored replicate comes out the same to the last bit, and a changed one is told."""

from __future__ import annotations

import pytest

import p0sim as p0
from p0sim.engine.store import Store
from p0sim.errors import InvalidStudyError
from p0sim.studies.reproduction import find_cell, reproduce
from tests.studies.test_study import TEXT


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repro")
    (folder / "tiny.toml").write_text(TEXT)
    study = p0.Study.from_toml(folder / "tiny.toml")
    return study.run(folder / "results", n_jobs=2, progress=False, block_size=5)


def test_every_replicate_comes_out_as_stored(results):
    for cell in results.cells["cell"]:
        for rep in (1, 7, 12):
            again = reproduce(results.directory, cell, rep)
            assert again.comparable
            assert again.differences == ()
            assert len(again.again["replicates"]) == 3


def test_a_changed_number_is_told_in_one_line(results, monkeypatch):
    """Control of the test above: the last bit of one stored estimate is another."""
    whole = Store.read

    def changed(store, frame):
        rows = whole(store, frame)
        if frame == "estimates":
            rows.loc[rows.index[0], "estimate"] += 1e-15
        return rows

    monkeypatch.setattr(Store, "read", changed)
    first = results.cells["cell"].iloc[0]
    (line,) = reproduce(results.directory, first, 1).differences
    assert line.startswith("estimates, nonprivate, alpha[1]-alpha[2]: estimate is ")
    assert reproduce(results.directory, first, 2).differences == ()


def test_a_cell_is_found_by_its_id_or_its_factors(results):
    cells = results.cells
    for row in cells.itertuples():
        assert find_cell(results, row.cell[:8]) == row.cell
        written = f"n={row.n}, L={row.L_rule}, epsilon={row.epsilon_rule}"
        assert find_cell(results, written) == row.cell
        assert find_cell(results, f"n={row.n},L={row.L!r},epsilon={row.epsilon!r}") == row.cell


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("n=12", "'n=12' means 4 of "),
        ("n=13", "'n=13' means none of "),
        ("zz", "'zz' means none of "),
        ("", "'' means 8 of "),
        ("m=12", "cell must name factors n, q, L, epsilon; got 'm'"),
    ],
)
def test_a_text_that_means_no_cell_or_several_is_refused(results, cell, message):
    with pytest.raises(InvalidStudyError, match=message):
        reproduce(results.directory, cell, 1)


def test_a_replicate_that_is_not_stored_is_refused(results):
    with pytest.raises(InvalidStudyError, match=r"rep must be a stored replicate.*; got 13"):
        reproduce(results.directory, "n=12,L=0,epsilon=2", 13)
