"""A privacy loss as an exact fraction: 0.1 is 1/10, which no float is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational

import numpy as np

from p0sim.errors import InvalidPrivacyError
from p0sim.validation import shown

SMALLEST = Fraction(1, 10**6)
LONGEST_TEXT = 100
LONGEST_DECIMAL = 30
NUMBER = re.compile(r"-?([0-9]+/[0-9]+|[0-9]+\.?[0-9]*|\.[0-9]+)")
NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True)
class ExactEpsilon:
    """A privacy loss and how it was written.

    Attributes
    ----------
    value : Fraction
        Positive, at least 1e-6.
    text : str
        As it was given: ``"0.1"``, ``"7/3"``.
    """

    value: Fraction
    text: str


def exact_epsilon(
    epsilon: object, name: str = "epsilon", longest: int = LONGEST_TEXT
) -> ExactEpsilon:
    """A privacy loss from text, a whole number or a Fraction; never from a float.

    Parameters
    ----------
    epsilon : str, int or Fraction
        Text is a plain decimal or a fraction of whole numbers: ``"0.1"``, ``"7/3"``, ``"2"``.
    name : str
        What it is called in messages.
    longest : int
        How many characters it may have as text; less than 4300, which Python stops at.

    Returns
    -------
    ExactEpsilon

    Raises
    ------
    InvalidPrivacyError
        If it is not positive and finite, below 1e-6, longer than 100 characters or of another form.
    TypeError
        If it is a float or no number at all.

    Examples
    --------
    >>> exact_epsilon("0.1").value
    Fraction(1, 10)
    >>> exact_epsilon(0.1)
    Traceback (most recent call last):
    TypeError: epsilon must be exact, and a float is not the decimal it shows: write "0.1"; got 0.1
    """
    if isinstance(epsilon, str):
        found = ExactEpsilon(_read(epsilon, name, longest), epsilon)
    elif isinstance(epsilon, Rational) and not isinstance(epsilon, bool):
        value = Fraction(int(epsilon.numerator), int(epsilon.denominator))
        found = ExactEpsilon(value, _written(value, name, longest))
    else:
        raise _not_exact(epsilon, name)
    if found.value <= 0:
        raise _not_positive(found.text, name)
    if found.value < SMALLEST:
        raise InvalidPrivacyError(f"{name} must be at least 1e-06; got {found.text}")
    return found


def exact_text(value: Fraction) -> str:
    """A fraction as people write it: a decimal where it ends soon, else numerator/denominator.

    Examples
    --------
    >>> exact_text(Fraction(3, 10)), exact_text(Fraction(7, 3)), exact_text(Fraction(2))
    ('0.3', '7/3', '2')
    """
    for places in range(LONGEST_DECIMAL):
        scaled = abs(value) * 10**places
        if scaled.denominator == 1:
            digits = str(scaled.numerator).rjust(places + 1, "0")
            sign = "-" if value < 0 else ""
            return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)
    return str(value)


def _read(text: str, name: str, longest: int) -> Fraction:
    if len(text) > longest:
        raise _too_long(name, longest, f"{len(text)}, {shown(text)}")
    if NOT_FINITE.fullmatch(text):
        raise _not_positive(text, name)
    try:
        if NUMBER.fullmatch(text):
            return Fraction(text)
    except ZeroDivisionError:
        pass
    raise InvalidPrivacyError(
        f'{name} must be a decimal such as "0.1", no exponent, or a fraction such as "7/3"; '
        f"got {text[:LONGEST_TEXT]!r}"
    )


def _written(value: Fraction, name: str, longest: int) -> str:
    """A fraction as text that can be read back."""
    # Python does not write whole numbers of more than 4300 digits
    if max(abs(value.numerator), value.denominator) >= 10**longest:
        raise _too_long(name, longest, "one with more digits")
    text = str(value)
    if len(text) > longest:
        raise _too_long(name, longest, f"{len(text)}, {shown(text)}")
    return text


def _too_long(name: str, longest: int, got: str) -> InvalidPrivacyError:
    return InvalidPrivacyError(
        f"{name} must have at most {longest} characters, as a decimal or a fraction; got {got}"
    )


def _not_exact(epsilon: object, name: str) -> Exception:
    if not isinstance(epsilon, float | np.floating):
        return TypeError(
            f'{name} must be text such as "0.1" or "7/3", a whole number or a Fraction; '
            f"got {epsilon!r}"
        )
    if not (epsilon > 0 and np.isfinite(epsilon)):
        return _not_positive(str(epsilon), name)
    return TypeError(
        f"{name} must be exact, and a float is not the decimal it shows: "
        f'write "{epsilon!s}"; got {epsilon!s}'
    )


def _not_positive(text: str, name: str) -> InvalidPrivacyError:
    return InvalidPrivacyError(f"{name} must be positive and finite; got {text}")
