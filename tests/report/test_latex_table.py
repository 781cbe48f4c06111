"""LaTeX that compiles with booktabs alone, whatever things are called, and fits the page."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from p0sim.report.latex_table import LATEX_WIDTH, printed_length
from p0sim.report.tables import paper_table

PREAMBLE = (
    r"\documentclass{article}\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}"
    r"\usepackage{booktabs}\begin{document}\input{table}\end{document}"
)
FACTOR = "share_%_&"
EVERYTHING = "%_&#$ {x} ~ ^ \\ −1 αβε Ωμ ≤ a--b"
LEVELS = {"0": "[1]", "log(log(n))": EVERYTHING}
METHODS = {"paper": EVERYTHING, "balanced": "*é #1"}

needs_pdflatex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdflatex is not installed"
)


def compiled(folder, preamble=PREAMBLE):
    """What pdflatex says of folder/table.tex, which must not stop it."""
    (folder / "main.tex").write_text(preamble)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    run = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    told = run.stdout.decode("utf-8", "replace")
    assert run.returncode == 0, told[-2000:]
    return told


def text_of(folder):
    """Words of the PDF; skips where nothing can read them."""
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed")
    command = ["pdftotext", "-layout", "main.pdf", "-"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout.decode()


@pytest.fixture(scope="module")
def hostile(measured):
    """The study, a factor, two methods and two levels named with what LaTeX stumbles over."""
    renamed = measured.rename(columns={"L": FACTOR, "L_rule": f"{FACTOR}_rule"})
    return renamed.replace({"method": METHODS, f"{FACTOR}_rule": LEVELS})


def test_booktabs_is_all_that_is_needed(measured):
    source = paper_table(measured).to_latex()
    commands = set(re.findall(r"\\([A-Za-z]+)", source))
    assert commands <= {
        *("usepackage", "par", "begingroup", "endgroup", "footnotesize", "setlength", "tabcolsep"),
        *("begin", "end", "toprule", "midrule", "bottomrule", "cmidrule", "addlinespace"),
        *("multicolumn", "itshape", "noindent", "medskip", "smallskip"),
        *("varepsilon", "alpha", "log", "sqrt"),
    }
    assert r"\cmidrule(lr){3-5}" in source


def test_rows_have_as_many_cells_as_their_tabular_columns(hostile):
    source = paper_table(hostile, ["n", "estimand"], ["epsilon", FACTOR]).to_latex()
    tabulars = re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", source, re.S)
    assert len(tabulars) > 1
    for columns, body in tabulars:
        for row in re.findall(r"^(.*?) \\\\$", body, re.M):
            spans = sum(int(k) - 1 for k in re.findall(r"\\multicolumn\{(\d+)\}", row))
            assert len(re.findall(r"(?<!\\)&", row)) + 1 + spans == len(columns)


def test_no_row_begins_like_an_option_of_the_row_before(hostile):
    source = paper_table(hostile, [FACTOR], ["n"], where={"estimand": "alpha[1]-alpha[2]"})
    lines = source.to_latex().splitlines()
    assert any(line.startswith("{}[1] &") for line in lines)
    assert not any(line.startswith(("[", "*")) for line in lines)


def test_a_wider_page_has_fewer_panels(measured):
    nine = paper_table(measured[measured["L_rule"] != "log(n)"])
    assert nine.to_latex().count(r"\begin{tabular}{lllll}") == 3
    assert nine.to_latex(width=180).count(r"\begin{tabular}{" + "l" * 11 + "}") == 1


@pytest.mark.parametrize(
    ("text", "length"),
    [("alpha[199]-alpha[200]", 9), ("log(n)/n^(1/4)", 12), ("0.95 (1.2)", 10), ("−1", 2)],
)
def test_a_length_is_that_of_what_is_printed(text, length):
    assert printed_length(text) == length


@pytest.mark.slow
@needs_pdflatex
def test_the_papers_default_table_prints_within_the_lines(measured, tmp_path):
    nine = paper_table(measured[measured["L_rule"] != "log(n)"])
    nine.to_latex(tmp_path / "table.tex")
    assert "Overfull" not in compiled(tmp_path)
    text = " ".join(text_of(tmp_path).split())
    for words in ("estimand", "nonprivate", "balanced", "200 replicates a cell and method"):
        assert words in text
    cell = nine.grid.lines[0].cells[0]
    assert cell in text


@pytest.mark.slow
@needs_pdflatex
def test_nine_columns_print_on_a_page_turned_to_landscape(measured, tmp_path):
    nine = paper_table(measured[measured["L_rule"] != "log(n)"])
    nine.to_latex(tmp_path / "table.tex", width=180)
    turned = (
        r"\documentclass{article}\usepackage{booktabs}"
        r"\pdfpagewidth=11in\pdfpageheight=8.5in\textwidth=9in\oddsidemargin=0pt"
        r"\begin{document}\input{table}\end{document}"
    )
    assert "Overfull" not in compiled(tmp_path, turned)


@pytest.mark.slow
@needs_pdflatex
def test_hostile_names_are_printed_as_they_are(hostile, tmp_path):
    table = paper_table(hostile, ["n", "estimand"], ["epsilon", FACTOR])
    table.to_latex(tmp_path / "table.tex")
    assert "Overfull" not in compiled(tmp_path)
    text = " ".join(text_of(tmp_path).split())
    assert "share_%_& = [1]" in text
    assert "share_%_& = %_&#$ {x}" in text
    assert "*é #1" in text
    for sign in ("\\", "−1", "αβε", "≤"):
        assert sign in text


@pytest.mark.slow
@needs_pdflatex
def test_other_encodings_of_fonts_do_as_well(hostile, tmp_path):
    table = paper_table(hostile, ["method", "estimand"], ["n", "epsilon"], where={FACTOR: "[1]"})
    table.to_latex(tmp_path / "table.tex")
    compiled(tmp_path, PREAMBLE.replace(r"\usepackage[T1]{fontenc}", ""))


def test_the_default_width_is_that_of_an_article(measured):
    table = paper_table(measured)
    assert table.to_latex() == table.to_latex(width=LATEX_WIDTH)
