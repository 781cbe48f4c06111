"""Names and levels as mathematics: alpha[1]-alpha[2], log(n)/n^(1/4), epsilon."""

from __future__ import annotations

import ast
import math
import re
import unicodedata
import warnings

# Labels with other characters stay plain text: they are not safe inside mathematics.
TERM = r"(?:\d+(?:\.\d+)?\*)?(?:alpha|beta)\[[^\[\]]+\]"
CONTRAST = re.compile(rf"-?{TERM}(?:[+-]{TERM})*")
PARAMETER = re.compile(r"([^a-z]*)(alpha|beta)\[([^\[\]]+)\]")
PLAIN_POSITION = re.compile(r"[A-Za-z0-9]+")
SYMBOLS = {
    "alpha": r"\alpha",
    "beta": r"\beta",
    "epsilon": r"\varepsilon",
    "theta": r"\theta",
    "n": "n",
    "q": "q",
    "L": "L",
}
LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "\u200b": "{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}
SMALL_GREEK = (
    "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi o pi rho "
    "varsigma sigma tau upsilon varphi chi psi omega"
)
CAPITAL_GREEK = "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
COMMANDS = {
    **dict(zip("αβγδεζηθικλμνξοπρςστυφχψω", SMALL_GREEK.split(), strict=True)),
    **dict(zip("ΓΔΘΛΞΠΣΥΦΨΩ", CAPITAL_GREEK.split(), strict=True)),
    **{"µ": "mu", "ϵ": "epsilon", "ϑ": "vartheta", "ϕ": "phi"},
    **{"≤": "leq", "≥": "geq", "≠": "neq", "≈": "approx", "→": "to", "∞": "infty", "√": "surd"},
}
# What pdflatex does not know as text: mathematics, and letters that look like Latin ones.
MATHEMATICAL = {
    **{letter: f"$\\{command}$" for letter, command in COMMANDS.items()},
    "ο": "o",
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧ", "ABEZHIKMNOPTX", strict=True)),
    **{digit: f"$_{number}$" for number, digit in enumerate("₀₁₂₃₄₅₆₇₈₉")},
    **{digit: f"$^{number}$" for number, digit in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}
LATEX = LATEX_SPECIAL | MATHEMATICAL
# Fonts join these pairs to other signs: -- to a dash, ,, to a quotation mark.
JOINED = re.compile(r"(-(?=-)|,(?=,)|[?!](?=`))")
OPERATORS: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: (" + ", 1),
    ast.Sub: (" - ", 1),
    ast.Mult: (r" \cdot ", 2),
    ast.Div: (" / ", 2),
}
POWER, ATOM = 3, 4


def latex(text: str) -> str:
    r"""Text for LaTeX: mathematics where it is some, every special character escaped.

    Examples
    --------
    >>> latex("alpha[1]-alpha[2]"), latex("log(n)/n^(1/4)"), latex("50%_a&b")
    ('$\\alpha_{1}-\\alpha_{2}$', '$\\log n / n^{1/4}$', '50\\%\\_a\\&b')
    """
    body = mathematics(text)
    return escape_latex(text) if body is None else f"${body}$"


def mathtext(text: str) -> str:
    """Text for matplotlib: mathematics where it is some, dollars escaped."""
    body = mathematics(text)
    return text.replace("$", r"\$") if body is None else f"${body}$"


def number_text(value: float) -> str:
    r"""A number beside an axis: three digits of it, whole ones whole, huge and tiny ones as powers.

    Examples
    --------
    >>> number_text(3200.0), number_text(1.45628), number_text(0.001), number_text(2e-6)
    ('3200', '1.46', '0.001', '$2\\cdot 10^{-6}$')
    """
    size = abs(value)
    if size == 0 or 1e-4 <= size < 1e6:
        return f"{value:.0f}" if size >= 1000 else f"{value:.3g}"
    power = math.floor(math.log10(size) + 1e-9)
    digits = f"{value / 10.0**power:.3g}"
    times = "" if digits == "1" else rf"{digits}\cdot "
    return f"${times}10^{{{power}}}$"


def escape_latex(text: str) -> str:
    r"""Plain text that LaTeX prints as it stands, with inputenc and T1 fonts.

    Letters of other scripts than Latin and Greek are left as they are: pdflatex refuses them, other
    engines do not.

    Examples
    --------
    >>> escape_latex("μ_1 ≤ 5 %, a--b")
    '$\\mu$\\_1 $\\leq$ 5 \\%, a-{}-b'
    """
    apart = JOINED.sub("\\1\u200b", unicodedata.normalize("NFC", text))
    return "".join(LATEX.get(character, character) for character in apart)


def mathematics(text: str) -> str | None:
    """The LaTeX mathematics that a name or level stands for, or None for plain text."""
    if text in SYMBOLS:
        return SYMBOLS[text]
    return contrast(text) if CONTRAST.fullmatch(text) else formula(text)


def contrast(text: str) -> str | None:
    r"""A contrast of parameters as LaTeX, or None where a position is neither plain nor a formula.

    Examples
    --------
    >>> contrast("alpha[1]-2*beta[n/2+1]"), contrast("alpha[a_1]")
    ('\\alpha_{1}-2\\,\\beta_{n / 2 + 1}', None)
    """
    parts = []
    for sign, name, position in PARAMETER.findall(text):
        plain = position if PLAIN_POSITION.fullmatch(position) else formula(position)
        if plain is None:
            return None
        parts.append(sign.replace("*", r"\,") + rf"\{name}_{{{plain}}}")
    return "".join(parts)


def formula(text: str) -> str | None:
    r"""Arithmetic in n as LaTeX, or None when the text is not such a formula.

    Examples
    --------
    >>> formula("sqrt(log(n))"), formula("log(log(n))"), formula("0.5"), formula("two-step")
    ('\\sqrt{\\log n}', '\\log\\log n', None, None)
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text.replace("^", "**"), mode="eval").body
        return None if isinstance(tree, ast.Constant | ast.Name) else _render(tree)[0]
    except (SyntaxError, ValueError):
        return None


def _render(node: ast.expr) -> tuple[str, int]:
    """LaTeX of a node and how tightly it binds."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return f"{number:g}", ATOM
        case ast.Name(id="n"):
            return "n", ATOM
        case ast.Call(func=ast.Name(id="sqrt"), args=[argument]):
            return rf"\sqrt{{{_render(argument)[0]}}}", ATOM
        case ast.Call(func=ast.Name(id="log" | "exp" as name), args=[argument]):
            return _function(name, argument), POWER
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return f"{_bound(left, ATOM)}^{{{_render(right)[0].replace(' ', '')}}}", POWER
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            sign, binding = OPERATORS[type(op)]
            return f"{_bound(left, binding)}{sign}{_bound(right, binding + 1)}", binding
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"-{_bound(operand, POWER)}", 1
    raise ValueError(f"not a formula in n: {ast.unparse(node)}")


def _function(name: str, argument: ast.expr) -> str:
    inner, binding = _render(argument)
    if binding == ATOM:
        return rf"\{name} {inner}"
    return rf"\{name}{inner}" if inner.startswith(r"\log") else rf"\{name}({inner})"


def _bound(node: ast.expr, least: int) -> str:
    inner, binding = _render(node)
    return inner if binding >= least else f"({inner})"
