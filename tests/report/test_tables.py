"""The paper's table in every form: layout, holes, failures, notes, escaping."""

import io
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from p0sim.errors import InvalidStudyError
from p0sim.report.tables import paper_table

HOSTILE = {"balanced": r"50%_noise & {more} #1 ~ ^ \ $x$ |", "epsilon": "privacy_loss"}
PACKAGES = ("multirow", "makecell", "threeparttable", "siunitx", "longtable", "array", "tabularx")


def test_the_default_is_the_papers_layout(measured):
    grid = paper_table(measured).grid
    assert grid.row_names == ("n", "estimand")
    assert [str(h) for h in grid.columns[0]] == ["epsilon = 2", "L = 0"]
    assert len(grid.columns) == 3 * 4
    assert [str(line.group[0]) for line in grid.lines[::6]] == ["nonprivate", "paper", "balanced"]


def test_a_cell_is_coverage_length_and_share_in_percent(measured):
    """Oracle: the frame itself, by hand."""
    table = paper_table(measured, where={"method": "paper", "n": 100})
    rows = measured[(measured["method"] == "paper") & (measured["cell"] == "c000")]
    by = rows.set_index(["estimand", "measure"])["value"]
    coverage = 100 * by["alpha[1]-alpha[2]", "coverage"]
    width = by["alpha[1]-alpha[2]", "ci_width"]
    share = 100 * by["theta", "fail_rate"]
    assert table.grid.lines[0].cells[0] == f"{coverage:.0f} ({width:.2f}) [{share:.0f}]"


def test_a_cell_where_every_fit_failed_is_a_dash_with_its_share(measured):
    cells = paper_table(measured).grid.lines[0].cells
    assert cells[3] == "– (–) [100]"


def test_a_combination_outside_the_design_is_a_dash(measured):
    hole = measured[~((measured["L_rule"] == "0") & (measured["epsilon_rule"] == "2"))]
    table = paper_table(hole, where={"method": "paper"})
    columns = [[str(h) for h in column] for column in table.grid.columns]
    assert ["epsilon = 2", "L = 0"] not in columns
    part = measured[~((measured["n"] == 100) & (measured["L_rule"] == "0"))]
    table = paper_table(part, where={"method": "paper"})
    at = [[str(h) for h in column] for column in table.grid.columns].index(["epsilon = 2", "L = 0"])
    assert [line.cells[at] == "–" for line in table.grid.lines] == [True] * 3 + [False] * 3


def test_a_rule_joins_the_cells_whose_number_changes_with_n(measured):
    table = paper_table(measured, where={"method": "paper", "epsilon": "log(n)/n^(1/2)"})
    assert all("–" not in line.cells[0] for line in table.grid.lines)


def test_a_factor_with_missing_levels_loses_no_rows(measured):
    no_release = measured.assign(
        epsilon_rule=measured["epsilon_rule"].where(measured["epsilon_rule"] != "2", None)
    )
    heads = [str(column[0]) for column in paper_table(no_release).grid.columns]
    assert "epsilon = none" in heads


def test_filtering_by_estimand_keeps_the_share_of_failures(measured):
    table = paper_table(measured, where={"estimand": "alpha[1]-alpha[2]"})
    assert table.grid.lines[0].cells[3] == "– (–) [100]"


def test_measures_of_whole_fits_make_a_table_of_their_own(measured):
    table = paper_table(measured, cell="{sup_error_median}")
    assert table.grid.row_names == ("n",)


def test_method_can_be_a_column(measured):
    table = paper_table(
        measured, rows=["estimand"], cols=["method", "n"], where={"epsilon": "2", "L": "0"}
    )
    assert [str(h) for h in table.grid.columns[2]] == ["paper", "n = 100"]


def test_a_single_column_is_headed_by_its_measures(measured):
    only = {"method": "paper", "epsilon": "2", "L": "0"}
    assert str(paper_table(measured, where=only).grid.columns[0][0]) == (
        "coverage (ci_width) [fail_rate]"
    )


def test_the_note_says_replicates_error_and_existence(measured):
    note = paper_table(measured).grid.note
    assert "200 replicates a cell and method" in note
    assert "conditional on the existence of an estimate" in note
    coverage = measured[measured["measure"] == "coverage"]
    worst = 100 * coverage["mcse"].max()
    assert f"Largest Monte Carlo standard error of coverage: {worst:.2g} points" in note


def test_a_note_of_ones_own_takes_its_place(measured):
    assert paper_table(measured, note="Mine.").to_text().endswith("Mine.")
    assert paper_table(measured, note="").to_text().endswith("-")


def test_text_fits_into_100_columns_and_shows_every_column_once(measured):
    table = paper_table(measured)
    text = table.to_text()
    assert max(map(len, text.splitlines())) <= 100
    assert sum(text.count(f"epsilon = {rule}") for rule in ("2", "log(n)/n^(1/4)")) == 2
    assert text.count("– (–) [100]") == 3 * 3 * 6


def test_the_terminal_gets_the_text_at_its_own_width(measured):
    console = Console(width=70, file=io.StringIO())
    console.print(paper_table(measured))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 70
    assert any("alpha[1]-alpha[2]" in line for line in lines)


def test_csv_parses_back_to_the_frame(measured, tmp_path):
    table = paper_table(measured)
    table.to_csv(tmp_path / "table.csv")
    keys = dict.fromkeys(["method", "n", "estimand", "epsilon", "L"], str)
    back = pd.read_csv(tmp_path / "table.csv", dtype=keys)
    pd.testing.assert_frame_equal(back, table.frame, check_dtype=False)


def test_markdown_rows_have_one_number_of_cells(measured):
    table = paper_table(measured, labels=HOSTILE)
    lines = [line for line in table.to_markdown().splitlines() if line.startswith("|")]
    bars = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
    assert bars == {2 + 12 + 1}


class Cells(HTMLParser):
    """Widths of the rows of a table, and the text in it."""

    def __init__(self):
        super().__init__()
        self.rows, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append(0)
        if tag in {"td", "th"}:
            self.rows[-1] += int(dict(attrs).get("colspan", 1))

    def handle_data(self, data):
        self.text += data


def test_html_rows_are_complete_and_labels_survive(measured):
    html = Cells()
    html.feed(paper_table(measured, labels={"balanced": "<b> & co"}).to_html())
    assert set(html.rows) == {14, 12}
    assert "<b> & co" in html.text


def test_latex_uses_booktabs_only(measured):
    source = paper_table(measured, labels=HOSTILE).to_latex()
    assert not any(name in source for name in PACKAGES)
    assert r"\cmidrule(lr){3-6}" in source
    for body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", source, re.S):
        for row in re.findall(r"^(.*?) \\\\$", body[1], re.M):
            spans = sum(int(k) - 1 for k in re.findall(r"\\multicolumn\{(\d+)\}", row))
            assert len(re.findall(r"(?<!\\)&", row)) + 1 + spans == len(body[0])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_with_hostile_names(measured, tmp_path):
    table = paper_table(measured, labels=HOSTILE)
    table.to_latex(tmp_path / "table.tex")
    (tmp_path / "main.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs}\begin{document}"
        r"\input{table}\end{document}"
    )
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-2000:]
    assert "Overfull" not in run.stdout


def test_the_same_table_is_written_as_the_same_bytes(measured, tmp_path):
    for number in (1, 2):
        table = paper_table(measured)
        table.to_latex(tmp_path / f"{number}.tex")
        table.to_html(tmp_path / f"{number}.html")
    for suffix in ("tex", "html"):
        assert (tmp_path / f"1.{suffix}").read_bytes() == (tmp_path / f"2.{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rows": ["contrast"]}, r"a factor must be one of .*; got 'contrast'"),
        ({"rows": ["estimnad"]}, r"did you mean estimand\?"),
        ({"cell": "{covrage}"}, r"cell must name measures .*; got 'covrage'"),
        ({"cell": "{coverage"}, r"cell must be a template"),
        ({"cell": "{coverage:.1f}"}, r"without a format, as decimals .*; got '{coverage:.1f}'"),
        ({"cell": "{coverage!r}"}, r"without a format, as decimals .*; got '{coverage!r}'"),
        ({"cell": "x"}, r"cell must name a measure"),
        ({"where": {"n": 300}}, r"n must be one of 100, 200; got 300"),
        ({"rows": ["n"], "cols": ["n"]}, r"must differ; got .*n, n"),
        ({"group_rows": []}, r"tell all cells apart; got several levels of method"),
    ],
)
def test_a_table_that_cannot_be_laid_out_is_refused(measured, arguments, words):
    with pytest.raises(InvalidStudyError, match=words):
        paper_table(measured, **arguments)


def test_a_study_without_any_fit_has_a_table(measured):
    failed = measured[measured["L_rule"] == "log(n)"]
    table = paper_table(failed)
    assert {cell for line in table.grid.lines for cell in line.cells} == {"– (–) [100]"}
    assert np.isnan(table.frame["coverage_pct"]).all()


def with_used(measured, used):
    """The measures of contrasts as if they rested on `used` estimates where L is 0."""
    few = (measured["L_rule"] == "0") & (measured["measure"] != "fail_rate")
    return measured.assign(n_used=measured["n_used"].mask(few & (measured["n_used"] > 0), used))


def test_no_cell_means_the_papers_where_there_is_coverage(measured):
    assert paper_table(measured, cell=None).to_text() == paper_table(measured).to_text()
    assert paper_table(measured, cell=None).grid.lines[0].cells[3] == "– (–) [100]"


def test_a_study_without_contrasts_has_a_table(measured):
    fits = measured[measured["estimand"] == "theta"]
    note = paper_table(fits).grid.note
    assert "Cells: median largest error over theta [no-estimate share in %]." in note
    shares = paper_table(fits[fits["measure"] == "fail_rate"])
    assert shares.grid.lines[0].cells[3] == "100"
    assert "Cells: no-estimate share in %." in shares.grid.note


@pytest.mark.parametrize(("used", "marked"), [(1, True), (29, True), (30, False)])
def test_a_cell_on_few_estimates_has_a_dagger(measured, used, marked):
    grid = paper_table(with_used(measured, used)).grid
    assert [cell.endswith("†") for cell in grid.lines[0].cells] == ([marked] + [False] * 3) * 3
    assert ("†: fewer than 30 estimates." in grid.note) is marked


def test_shares_of_all_replicates_have_no_dagger(measured):
    table = paper_table(with_used(measured, 3), cell="{fail_rate}")
    assert "†" not in table.to_text()


def test_where_all_cells_rest_on_few_the_note_says_so_once(measured):
    used = measured["n_used"].clip(upper=12)
    text = paper_table(measured.assign(n_used=used)).to_text()
    assert "†" not in text
    assert text.replace("\n", " ").count("Every cell rests on fewer than 30 estimates.") == 1


def test_the_largest_error_is_that_of_cells_with_enough_estimates(measured):
    few = with_used(measured, 3)
    coverage = (few["measure"] == "coverage") & (few["n_used"] == 3)
    note = paper_table(few.assign(mcse=few["mcse"].mask(coverage, 0.5))).grid.note
    firm = measured[(measured["measure"] == "coverage") & (measured["L_rule"] != "0")]
    worst = 100 * firm["mcse"].max()
    assert f"Largest Monte Carlo standard error of coverage: {worst:.2g} points" in note


def test_single_numbers_stay_aligned_beside_a_dagger(measured):
    """With L down the rows one column holds marked and unmarked cells."""
    where = {"method": "nonprivate", "n": 100, "epsilon": "2", "estimand": "alpha[1]-alpha[2]"}
    table = paper_table(with_used(measured, 3), ["L"], ["n"], "{coverage}", where=where)
    rows = [line for line in table.to_text().splitlines() if re.match(r"0 |log\(log", line)]
    assert rows[0].endswith("†")
    assert len(rows[0]) - 1 == len(rows[1])
    assert "\u2007" not in table.to_text()
    source = table.to_latex()
    assert re.search(r"& \d+\\rlap\{\$\^\\dagger\$\} \\\\", source)
    assert "$^\\dagger$: fewer than 30 estimates." in source
    assert source.isascii()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_with_daggers(measured, tmp_path):
    paper_table(with_used(measured, 3)).to_latex(tmp_path / "table.tex")
    (tmp_path / "main.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs}\begin{document}\input{table}\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-2000:]
    assert "Overfull" not in run.stdout


def test_short_lengths_show_two_significant_digits(measured):
    widths = measured["measure"] == "ci_width"
    short = measured.assign(
        value=measured["value"].mask(widths, 0.0412), mcse=measured["mcse"].mask(widths, 1e-5)
    )
    table = paper_table(short, cell="{ci_width}")
    assert table.grid.lines[0].cells[0] == "0.041"
    assert table.frame["ci_width"].dropna().unique().tolist() == [0.041]
