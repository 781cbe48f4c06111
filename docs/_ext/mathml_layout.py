"""Space and signs that browsers do not put into MathML by themselves."""

from __future__ import annotations

import re
from itertools import cycle
from xml.etree import ElementTree

APPLY = "\N{FUNCTION APPLICATION}"
PRIME = "\N{PRIME}"
THIN = "0.1667em"
# brackets around what a function is applied to, and around a factor before it
OPENING = ("(", "[", "{")
CLOSING = (")", "]", "}")
NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'


def laid_out(mathml: str) -> str:
    """Formula with names of functions set off, bars in pairs, primes, and roots that show.

    Examples
    --------
    >>> print(laid_out("<math><mi>f</mi><mo>'</mo></math>"))
    <math><msup><mi>f</mi><mo>′</mo></msup></math>
    """
    plain = mathml.replace("&ApplyFunction;", APPLY).replace(NAMESPACE, "")
    root = ElementTree.fromstring(re.sub(r">\s*\n\s*<", "><", plain))
    for row in list(root.iter()):
        _raise_primes(row)
        _pair_bars(row)
        _set_off_functions(row)
        _set_off_limits(row)
        if row.tag == "msqrt":
            # as \mathstrut: the bar of a root of n stays clear of the n, which would be a pi
            row.append(ElementTree.Element("mspace", {"height": "0.7em"}))
    found = ElementTree.tostring(root, encoding="unicode")
    return found.replace("<math", f"<math{NAMESPACE}", 1) if NAMESPACE in mathml else found


def _raise_primes(row: ElementTree.Element) -> None:
    """An apostrophe is a prime, and stands above what is before it."""
    for place in range(len(row) - 1, 0, -1):
        if row[place].tag == "mo" and row[place].text == "'":
            raised, base = ElementTree.Element("msup"), row[place - 1]
            row[place].text = PRIME
            raised.extend([base, row[place]])
            row[place - 1 : place + 1] = [raised]


def _pair_bars(row: ElementTree.Element) -> None:
    """Single bars open and close in turn, all of one height."""
    bars = [each for each in row if each.tag == "mo" and each.text == "|"]
    for bar, form in zip(bars, cycle(("prefix", "postfix")), strict=False):
        bar.attrib.update(form=form, stretchy="false", lspace="0", rspace="0")


def _set_off_functions(row: ElementTree.Element) -> None:
    """Thin spaces around log and its like, but none before a bracket."""
    for place in range(len(row) - 1, 0, -1):
        if row[place].tag != "mo" or row[place].text != APPLY:
            continue
        after = row[place + 1] if place + 1 < len(row) else None
        row[place].attrib.update(lspace="0", rspace=_space_before(after))
        if place > 1 and not _needs_no_space(row[place - 2]):
            row.insert(place - 1, ElementTree.Element("mspace", {"width": THIN}))


def _set_off_limits(row: ElementTree.Element) -> None:
    """The same around max and min, which are operators and may carry what stands below them."""
    for place, each in enumerate(row):
        core = each if each.tag == "mo" else next(iter(each), each)
        if core.tag == "mo" and len(core.text or "") > 1:
            after = row[place + 1] if place + 1 < len(row) else None
            first = place == 0 or _needs_no_space(row[place - 1])
            core.attrib.update(lspace="0" if first else THIN, rspace=_space_before(after))


def _needs_no_space(before: ElementTree.Element) -> bool:
    """An operator has its own space; a bracket that closes ends a factor."""
    return before.tag == "mspace" or (before.tag == "mo" and before.text not in CLOSING)


def _space_before(after: ElementTree.Element | None) -> str:
    opens = after is not None and after.tag == "mo" and after.text in OPENING
    return "0" if after is None or after.tag == "mspace" or opens else THIN
