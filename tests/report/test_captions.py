"""Captions: true of every study they stand in."""

import pytest

from p0sim.report.captions import CAPTIONS, CONDITIONAL, JUDGED_APART, caption


def with_failures(measured, **failed):
    """The frame with so many failed fits of each method."""
    return measured.assign(n_failed=measured["method"].map(failed).astype(int))


@pytest.mark.parametrize("kind", CAPTIONS)
def test_every_caption_speaks_of_existence_where_some_fit_failed_and_only_there(measured, kind):
    unlike = caption(kind, with_failures(measured, nonprivate=0, paper=90, balanced=20))
    alike = caption(kind, with_failures(measured, nonprivate=9, paper=9, balanced=9))
    none = caption(kind, with_failures(measured, nonprivate=0, paper=0, balanced=0))
    assert CONDITIONAL in unlike and JUDGED_APART in unlike
    assert CONDITIONAL in alike and JUDGED_APART not in alike
    assert CONDITIONAL not in none
    assert "{" not in unlike


def test_slopes_are_promised_from_three_sizes_on(measured):
    assert measured["n"].nunique() == 2
    assert "least-squares" not in caption("consistency", measured)
    assert "Fewer than three n" in caption("consistency", measured)
    more = measured.assign(n=[(50, 100, 200)[i % 3] for i in range(len(measured))])
    assert "least-squares slopes with their 95 % intervals" in caption("consistency", more)


def test_the_whole_design_is_named_by_what_is_drawn(measured):
    assert caption("nested", measured).startswith("Coverage in all cells")
    of_fits = measured[measured["estimand"] == "theta"]
    assert caption("nested", of_fits).startswith("Median largest error over theta in all cells")
