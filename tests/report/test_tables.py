"""The paper's table in every form: layout, holes, failures, notes, escaping."""

import io
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from p0sim.errors import InvalidStudyError
from p0sim.report.tables import paper_table

HOSTILE = {"balanced": r"50%_noise & {more} #1 ~ ^ \ $x$ |", "epsilon": "privacy_loss"}


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


@pytest.mark.parametrize("width", [60, 80, 120])
def test_text_fits_into_any_width(measured, width):
    text = paper_table(measured, labels={"nonprivate": "no release of anything " * 5}).to_text(
        width
    )
    assert max(map(len, text.splitlines())) <= width


def test_a_label_of_several_lines_is_printed_on_one(measured):
    table = paper_table(measured, labels={"balanced": "two\nlines"})
    for form in (table.to_text(), table.to_markdown(), table.to_html(), table.to_latex()):
        assert "two lines" in form


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


def test_csv_holds_the_numbers_as_printed(measured):
    """Oracle: the cells, taken apart."""
    table = paper_table(measured)
    printed = [
        re.fullmatch(r"(\S+) \((\S+)\) \[(\S+)\]", cell).groups()
        for line in table.grid.lines
        for cell in line.cells
    ]
    numbers = sorted(tuple(float(text.replace("–", "-1")) for text in cell) for cell in printed)
    held = table.frame[["coverage_pct", "ci_width", "fail_rate_pct"]].fillna(-1)
    assert sorted(held.itertuples(index=False, name=None)) == numbers


def test_markdown_rows_have_one_number_of_cells(measured):
    table = paper_table(measured, labels=HOSTILE)
    lines = [line for line in table.to_markdown().splitlines() if line.startswith("|")]
    bars = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
    assert bars == {2 + 12 + 1}


def test_markdown_makes_no_link_of_two_brackets(measured):
    text = paper_table(measured, cell="[{coverage}]({ci_width})").to_markdown()
    assert "](" not in text.replace(r"\](", "")


class Page(HTMLParser):
    """A strict reader: every tag closed in turn, what the table has to say kept."""

    def __init__(self, html):
        super().__init__()
        self.open, self.rows, self.headers, self.text = [], [], [], {}
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append(0)
        if tag in {"td", "th"}:
            self.rows[-1] += int(dict(attrs).get("colspan", 1))
        if tag == "th":
            self.headers.append(dict(attrs))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip():
            inside = self.open[-1]
            self.text[inside] = self.text.get(inside, "") + data


def test_html_is_balanced_complete_and_keeps_labels(measured):
    table = paper_table(measured, labels={"balanced": "<b> & co"})
    page = Page(table.to_html())
    assert page.open == []
    assert set(page.rows) == {14, 12}
    assert "<b> & co" in page.text["th"]
    assert page.text["caption"] == table.grid.note
    assert {header.get("scope") for header in page.headers} == {
        *("col", "colgroup", "row", "rowgroup")
    }


def test_html_heads_no_row_with_an_empty_label(measured):
    assert not re.search(r"<th[^>]*></th>", paper_table(measured).to_html())


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
        ({"rows": ["estimnad"]}, r"did you mean 'estimand'\?"),
        ({"cell": "{covrage}"}, r"cell must be one of \d+ names; got 'covrage', .* 'coverage'\?"),
        ({"cell": "{zz}"}, r"cell must be one of .*coverage, .*; got 'zz'$"),
        ({"cell": "{coverage"}, r"cell must be a template"),
        ({"cell": "{coverage:.1f}"}, r"without a format, as decimals .*; got '{coverage:.1f}'"),
        ({"cell": "{coverage!r}"}, r"without a format, as decimals .*; got '{coverage!r}'"),
        ({"cell": "x"}, r"cell must name a measure"),
        ({"where": {"n": 300}}, r"n must be one of 100, 200; got '300'"),
        ({"rows": ["n"], "cols": ["n"]}, r"must differ; got .*n, n"),
        ({"group_rows": []}, r"tell all cells apart; got several levels of method"),
    ],
)
def test_a_table_that_cannot_be_laid_out_is_refused(measured, arguments, words):
    with pytest.raises(InvalidStudyError, match=words):
        paper_table(measured, **arguments)


def test_a_table_without_rows_and_columns_is_one_cell_where_one_is_all_there_is(measured):
    one = measured[
        (measured["cell"] == "c000")
        & (measured["method"] == "paper")
        & measured["estimand"].isin(["alpha[1]-alpha[2]", "theta"])
    ]
    table, usual = paper_table(one, rows=[]), paper_table(one)
    assert [line.cells for line in table.grid.lines] == [line.cells for line in usual.grid.lines]
    for form in (table.to_text, table.to_latex, table.to_markdown, table.to_html, table.to_csv):
        assert "coverage" in form()


def test_a_table_without_rows_and_columns_is_refused_where_there_is_more(measured):
    two = measured[(measured["cell"] == "c000") & (measured["method"] == "paper")]
    with pytest.raises(InvalidStudyError, match="got several levels of estimand"):
        paper_table(two, rows=[], cols=[], group_rows=[])


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
    words = "Largest Monte Carlo standard error of coverage among cells with at least 30 estimates"
    assert f"{words}: {worst:.2g} points" in note


def test_sure_shares_are_said_to_be_counted_by_a_share_that_is_not(measured):
    """Oracle: 200 of 200 gives p = 202/204, so sqrt(p (1 - p)/204) = 0.69 points."""
    sure = (measured["measure"] == "coverage") & (measured["n_used"] == 200)
    note = paper_table(measured[sure].assign(value=1.0, mcse=0.0), cell="{coverage}").grid.note
    assert "coverage: 0.69 points (200 estimates), median 0.69 points (of 0 and 100 %" in note
    assert "(x + 2)/(n + 4)" not in paper_table(measured[sure], cell="{coverage}").grid.note


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


def test_short_lengths_show_two_significant_digits(measured):
    widths = measured["measure"] == "ci_width"
    short = measured.assign(
        value=measured["value"].mask(widths, 0.0412), mcse=measured["mcse"].mask(widths, 1e-5)
    )
    table = paper_table(short, cell="{ci_width}")
    assert table.grid.lines[0].cells[0] == "0.041"
    assert table.frame["ci_width"].dropna().unique().tolist() == [0.041]


def compared(measured, **options):
    where = {"L": "0", "n": 100, "estimand": "alpha[1]-alpha[2]"}
    return paper_table(measured, ["estimand"], ["epsilon"], where=where, **options)


def value_of(measured, method, measure):
    rows = measured.query("cell == 'c000' and method == @method and measure == @measure")
    return float(rows.set_index("estimand")["value"]["alpha[1]-alpha[2]"])


def test_differences_show_their_sign_and_whom_they_are_with(measured):
    table = compared(measured, cell="{bias_diff}; {coverage_diff}", labels={"nonprivate": "Open"})
    bias = value_of(measured, "paper", "bias_diff")
    coverage = value_of(measured, "paper", "coverage_diff")
    assert bias < 0
    assert table.grid.lines[0].cells[0] == f"{bias:+.2f}; {100 * coverage:+.0f}"
    assert "Comparisons are with Open, on the replicates where both have" in table.grid.note
    assert "coverage minus that of the reference method in percentage points" in table.grid.note


def test_the_reference_has_a_dash_beside_measures_that_it_has(measured):
    table = compared(measured, cell="{coverage} {rel_prec}")
    assert table.grid.lines[0].group[0].level == "nonprivate"
    assert table.grid.lines[0].cells[0].endswith(" –")
    assert "no estimate in any replicate, nothing to compare, or" in table.grid.note


def test_p_values_have_three_decimals_or_are_below_them(measured):
    tiny = measured["value"].mask(
        (measured["measure"] == "normality") & (measured["method"] == "paper"), 2.34e-5
    )
    table = compared(measured.assign(value=tiny), cell="{normality}")
    cells = {line.group[0].level: line.cells[0] for line in table.grid.lines}
    assert cells["nonprivate"] == f"{value_of(measured, 'nonprivate', 'normality'):.3f}"
    assert cells["paper"] == "<0.001"
    assert r"\textless{}0.001" in table.to_latex()
    frame = table.frame[table.frame["method"] == "paper"]
    assert frame["normality"].tolist() == [2e-5] * 3
    assert "standard error of" not in table.grid.note


def with_parameters(measured, n_parameters):
    """Each target once more for alpha[1], alpha[2] and so on."""
    one = measured[measured["estimand"].isin(["alpha[1]-alpha[2]"])]
    more = [one.assign(estimand=f"alpha[{i}]") for i in range(1, n_parameters + 1)]
    return pd.concat([measured, *more], ignore_index=True)


@pytest.mark.parametrize(("n_parameters", "n_lines"), [(30, 33), (31, 3)])
def test_many_single_parameters_are_left_out_where_something_else_is_there(
    measured, n_parameters, n_lines
):
    study = with_parameters(measured, n_parameters)
    grid = paper_table(study, where={"n": 100, "method": "paper"}).grid
    assert len(grid.lines) == n_lines
    assert ("Single parameters are left out." in grid.note) is (n_lines == 3)


def test_single_parameters_are_shown_where_asked_for_or_alone(measured):
    study = with_parameters(measured, 31)
    where = {"n": 100, "method": "paper"}
    assert len(paper_table(study, ["estimand"], where=where).grid.lines) == 34
    alone = study[study["estimand"].str.fullmatch(r"alpha.\d+.|theta")]
    assert len(paper_table(alone, where=where).grid.lines) == 31
