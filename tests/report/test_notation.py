"""Names as mathematics, and plain text that survives LaTeX."""

import pytest

from p0sim.report.notation import escape_latex, formula, latex, mathtext, number_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("log(n)/n^(1/4)", r"\log n / n^{1/4}"),
        ("sqrt(log(n))", r"\sqrt{\log n}"),
        ("log(log(n))", r"\log\log n"),
        ("2*log(n)", r"2 \cdot \log n"),
        ("(log(n)+1)/n", r"(\log n + 1) / n"),
        ("n/(2*n)", r"n / (2 \cdot n)"),
        ("-log(n)", r"-\log n"),
        ("log(n)^2", r"(\log n)^{2}"),
    ],
)
def test_formulas_in_n_keep_their_value_in_latex(text, expected):
    assert formula(text) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1600.0, "1600"),
        (3200, "3200"),
        (1024.0, "1024"),
        (20000.0, "20000"),
        (1.45628, "1.46"),
        (0.5, "0.5"),
        (0.001, "0.001"),
        (0.0, "0"),
        (1e-6, "$10^{-6}$"),
        (2e-5, r"$2\cdot 10^{-5}$"),
        (1e6, "$10^{6}$"),
    ],
)
def test_numbers_beside_an_axis_are_written_out(number, expected):
    assert number_text(number) == expected


@pytest.mark.parametrize("text", ["two-step", "paper", "2", "0.5", "n", "f(n)", "a b", "x/y", "("])
def test_other_texts_are_no_formulas(text):
    assert formula(text) is None


def test_contrasts_get_greek_letters_and_indices():
    assert latex("alpha[100]-beta[101]") == r"$\alpha_{100}-\beta_{101}$"


def test_labels_unsafe_in_mathematics_stay_text():
    assert latex("alpha[ann_b]") == r"alpha[ann\_b]"


def test_every_special_character_is_escaped():
    escaped = latex("&%$#_{}~^\\")
    assert escaped == (r"\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}")


def test_matplotlib_takes_no_dollar_of_a_label_for_mathematics():
    assert mathtext("a $ b $") == r"a \$ b \$"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("αω ΓΩ", r"$\alpha$$\omega$ $\Gamma$$\Omega$"),
        ("α₁²", r"$\alpha$$_1$$^2$"),
        ("e\u0301", "é"),
        ("a--b", "a-{}-b"),
        ("don't", r"don\textquotesingle{}t"),
        ("2*alpha[1]-alpha[2]", r"2*alpha[1]-alpha[2]"),
    ],
)
def test_letters_and_signs_are_printed_as_they_stand(text, expected):
    assert escape_latex(text) == expected


def test_a_factor_before_a_parameter_is_mathematics():
    assert latex("0.5*alpha[1]-alpha[2]") == r"$0.5\,\alpha_{1}-\alpha_{2}$"


def test_texts_that_python_would_warn_of_are_plain_text():
    assert formula("1is 2") is None
    assert formula(r"'\d'") is None
