"""Formulas of study files: arithmetic in n and the other factors, parsed, never run as code."""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from p0sim.errors import InvalidStudyError
from p0sim.validation import advice

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "log": math.log,
    "sqrt": math.sqrt,
    "exp": math.exp,
}
# math.pow, not **: a negative base with a fractional power is an error, not a complex number.
OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda x, y: x + y,
    ast.Sub: lambda x, y: x - y,
    ast.Mult: lambda x, y: x * y,
    ast.Div: lambda x, y: x / y,
    ast.Pow: math.pow,
}
ALLOWED = "numbers, + - * / ^ ( ), log, sqrt, exp"
LONGEST = 200
WHOLE_TOLERANCE = 1e-9

_FOREIGN = re.compile(r"[^0-9A-Za-z_ .()+\-*/^]|//")
# 0x10 and 1_0 are numbers to the parser, not to a reader
_ODD_NUMBER = re.compile(r"\b[0-9][0-9.]*[A-DF-Za-df-z_]\w*")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")


def evaluate(formula: str, names: Mapping[str, float], place: str = "formula") -> float:
    """Value of a formula.

    Parameters
    ----------
    formula : str
        Arithmetic with + - * / ^ (also written **), parentheses, log, sqrt, exp and names.
    names : mapping of str to number
        What the formula may speak of.
    place : str
        Where it stands, for the error message.

    Returns
    -------
    float
        A finite number.

    Raises
    ------
    InvalidStudyError
        If the formula is anything but arithmetic, or has no finite value.

    Examples
    --------
    >>> evaluate("n^(1/2) - 2", {"n": 100})
    8.0
    >>> evaluate("n % 2", {"n": 100}, place="[factors] L")
    Traceback (most recent call last):
        ...
    p0sim.errors.InvalidStudyError: [factors] L: 'n % 2' is not a formula: '%' at position 3 \
is not allowed; use numbers, + - * / ^ ( ), log, sqrt, exp and n
    """
    return _Reader(formula, names, place).value()


def names_in(formula: str) -> frozenset[str]:
    """Names of factors a formula speaks of; empty when it cannot be parsed.

    Examples
    --------
    >>> sorted(names_in("log(n)/q"))
    ['n', 'q']
    """
    words = re.findall(r"[A-Za-z_][A-Za-z0-9_]*", formula)
    return frozenset(words) - FUNCTIONS.keys()


def fill_positions(text: str, names: Mapping[str, float], place: str = "[estimands]") -> str:
    """Put numbers into the brackets of an estimand.

    Parameters
    ----------
    text : str
        An estimand as written, each bracket a formula.
    names : mapping of str to number
        What the formulas may speak of; ``names["n"]`` is the largest position.
    place : str
        Where it stands, for the error message.

    Returns
    -------
    str

    Raises
    ------
    InvalidStudyError
        If a bracket is not closed, not a formula, or not a whole number in 1..n.

    Examples
    --------
    >>> fill_positions("alpha[n/2]-alpha[n/2+1]", {"n": 100})
    'alpha[50]-alpha[51]'
    """
    if re.search(r"[\[\]]", _BRACKETS.sub("", text)):
        raise InvalidStudyError(f"{place}: brackets do not match in {text!r}")
    n = int(names["n"])
    return _BRACKETS.sub(lambda match: f"[{_position(match[1], names, n, text, place)}]", text)


def _position(formula: str, names: Mapping[str, float], n: int, text: str, place: str) -> int:
    value = evaluate(formula, names, f"{place}: {text!r}")
    nearest_whole = round(value)
    is_whole = abs(value - nearest_whole) <= WHOLE_TOLERANCE * max(1.0, abs(value))
    if not (is_whole and 1 <= nearest_whole <= n):
        raise InvalidStudyError(
            f"{place}: position [{formula}] in {text!r} must be a whole number in 1..{n}; "
            f"got {value:.12g}"
        )
    return nearest_whole


@dataclass(frozen=True)
class _Reader:
    """One formula on its way from text to a number."""

    formula: str
    names: Mapping[str, float]
    place: str

    def value(self) -> float:
        self._check_characters()
        # ^ is exclusive or, of low rank, to the parser; ** is the power that is meant.
        try:
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse(self.formula.strip().replace("^", "**"), mode="eval")
        except SyntaxError as error:
            position = self._position((error.offset or 1) - 1)
            raise self._refusal(f"it cannot be read at position {position}") from None
        return self._visit(tree.body)

    def _check_characters(self) -> None:
        if not self.formula.strip():
            raise self._refusal("it is empty")
        if len(self.formula) > LONGEST:
            raise self._refusal(f"it is longer than {LONGEST} characters")
        foreign = _FOREIGN.search(self.formula) or _ODD_NUMBER.search(self.formula)
        if foreign:
            raise self._not_allowed(foreign[0], foreign.start() + 1)

    def _visit(self, node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return self._compute(node, float, number)
            case ast.Name(id=name):
                return self._named(name, node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._visit(operand)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
                sides = self._visit(left), self._visit(right)
                return self._compute(node, OPERATORS[type(operator)], *sides)
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if (
                name in FUNCTIONS
            ):
                return self._compute(node, FUNCTIONS[name], self._visit(argument))
        raise self._not_allowed(self._source(node), self._position(node.col_offset))

    def _compute(self, node: ast.expr, function: Callable[..., float], *values: float) -> float:
        try:
            value = function(*values)
        except (ValueError, ZeroDivisionError, OverflowError):
            value = math.nan
        if not math.isfinite(value):
            raise self._no_value(node)
        return value

    def _named(self, name: str, node: ast.expr) -> float:
        position = self._position(node.col_offset)
        if name in FUNCTIONS:
            raise self._refusal(f"{name} at position {position} needs one argument")
        if name not in self.names:
            known = [*self.names, *FUNCTIONS]
            raise self._refusal(
                f"{name!r} at position {position} is not known; {advice(name, known)}"
            )
        return float(self.names[name])

    def _position(self, offset: int) -> int:
        """Column, from 1, in the formula as written of an offset in the parsed text."""
        start = len(self.formula) - len(self.formula.lstrip())
        offsets = [0]
        for character in self.formula[start:]:
            offsets.append(offsets[-1] + (2 if character == "^" else 1))
        return start + max(i for i, begin in enumerate(offsets) if begin <= max(offset, 0)) + 1

    def _source(self, node: ast.expr) -> str:
        begin = self._position(node.col_offset) - 1
        end = self._position(node.end_col_offset or node.col_offset) - 1
        return self.formula[begin:end]

    def _not_allowed(self, what: str, position: int) -> InvalidStudyError:
        names = "".join(f", {name}" for name in self.names)
        return self._refusal(
            f"{what!r} at position {position} is not allowed; use {ALLOWED}"
            + (f" and {names[2:]}" if names else "")
        )

    def _no_value(self, node: ast.expr) -> InvalidStudyError:
        part, position = self._source(node), self._position(node.col_offset)
        spoken_of = sorted(names_in(self.formula) & self.names.keys())
        at = ", ".join(f"{name} = {self.names[name]:.12g}" for name in spoken_of)
        return InvalidStudyError(
            f"{self.place}: {self.formula!r} must have a finite value; "
            f"{part!r} at position {position} has none" + (f" where {at}" if at else "")
        )

    def _refusal(self, why: str) -> InvalidStudyError:
        return InvalidStudyError(f"{self.place}: {self.formula!r} is not a formula: {why}")
