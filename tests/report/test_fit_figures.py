"""Figures of a fit and of an exploration: what is drawn where, and what is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from p0sim.report.fit_figures import draw_degrees, draw_exploration, draw_intervals
from p0sim.report.style import save_figure

MARK = "not a release: shows the network's own numbers, do not publish"


def parameters(n: int, minus: int = 0, plus: int = 0) -> pd.DataFrame:
    """alpha 0, 1, .. n-1, the first `minus` at -inf, the last `plus` at inf; beta the same, node n
    the reference."""
    estimate = np.arange(n, dtype=float)
    estimate[:minus], estimate[n - plus :] = -np.inf, np.inf
    frame = pd.DataFrame({"name": "alpha", "node": [f"v{k}" for k in range(n)]})
    frame = frame.assign(estimate=estimate, lower=estimate - 0.5, upper=estimate + 0.5)
    beta = frame.assign(name="beta")
    beta.loc[minus, ["estimate", "lower", "upper"]] = [0.0, np.nan, np.nan]
    return pd.concat([frame.sample(frac=1, random_state=1), beta], ignore_index=True)


def segments(axis) -> np.ndarray:
    return np.array(axis.collections[0].get_segments())


def test_every_interval_is_drawn_at_the_place_of_its_estimate():
    axis = draw_intervals(parameters(10), 0.95, "n = 10").axes[0]
    drawn = segments(axis)
    assert drawn[:, 0, 1].tolist() == list(range(10))
    assert (drawn[:, 0, 0] + 0.5).tolist() == list(range(10))
    assert [text.get_text() for text in axis.get_yticklabels()] == [f"v{k}" for k in range(10)]


def test_of_many_nodes_all_estimates_and_100_intervals_are_drawn():
    axis = draw_intervals(parameters(1005, minus=5), 0.95, "n = 1005").axes[0]
    drawn = segments(axis)
    assert len(drawn) == 100
    assert drawn[[0, -1], 0, 1].tolist() == [5, 1004]
    assert len(axis.lines[0].get_xdata()) == 1000
    assert axis.get_title().splitlines()[1] == "5 at −∞; 100 of 1000 intervals drawn"
    assert axis.get_yticks().size == 0


def test_infinite_estimates_stand_at_the_edges():
    figure = draw_intervals(parameters(12, minus=3, plus=2), 0.9, "n = 12")
    axis = figure.axes[0]
    marks = {line.get_marker(): line for line in axis.lines}
    assert marks["<"].get_ydata().tolist() == [0, 1, 2]
    assert set(marks["<"].get_xdata()) == {0.0}
    assert marks[">"].get_ydata().tolist() == [10, 11]
    assert set(marks[">"].get_xdata()) == {1.0}
    assert len(segments(axis)) == 7
    assert "3 at −∞; 2 at ∞" in axis.get_title()
    assert "intervals at 90 %" in figure.get_suptitle()


def test_the_parameter_that_is_0_by_convention_has_a_mark_and_no_interval():
    axis = draw_intervals(parameters(6), 0.95, "n = 6").axes[1]
    diamond = next(line for line in axis.lines if line.get_marker() == "D")
    assert diamond.get_xdata().tolist() == [0.0]
    assert len(segments(axis)) == 5
    assert "β of v0 is 0 by convention" in axis.get_title()


def test_intervals_that_are_far_longer_than_most_run_out_of_the_panel():
    frame = parameters(20)
    frame.loc[0, ["lower", "upper"]] = [-1e4, 1e4]
    assert draw_intervals(frame, 0.95, "n = 20").axes[0].get_xlim()[1] < 25


def test_labels_are_no_mathematics():
    frame = parameters(4)
    frame["node"] = ["$a$", "n", "alpha[1]", "50%_x"] * 2
    axis = draw_intervals(frame, 0.95, "x").axes[1]
    shown = [text.get_text() for text in axis.get_yticklabels()]
    assert set(shown) == {r"\$a\$", "n", "alpha[1]", "50%_x"}


def degrees(forced: bool = False) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "side": ["out"] * 3 + ["in"] * 3,
            "released": [5.0, -1.0, 2.0, 2.0, 2.0, 1.0],
            "fitted": [4.5, 0.0, 1.5, 2.5, 2.0, 1.5],
            "forced": [False, forced, False, False, False, False],
        }
    )


def test_degrees_stand_at_released_and_fitted_and_infinite_ones_apart():
    figure = draw_degrees(degrees(forced=True), 2.0, "n = 3")
    points = {
        len(line.get_xdata()): line for line in figure.axes[0].lines if line.get_marker() != "None"
    }
    assert points[2].get_xdata().tolist() == [5.0, 2.0]
    assert points[2].get_ydata().tolist() == [4.5, 1.5]
    assert points[1].get_xydata().tolist() == [[-1.0, 0.0]]
    said = [text.get_text() for text in figure.legends[0].get_texts()]
    assert said[-1] == "infinite parameter"
    assert "±1.96 standard deviations of the noise" in said


def test_without_noise_there_is_no_band():
    figure = draw_degrees(degrees(), 0.0, "n = 3")
    assert all(len(axis.collections) == 0 for axis in figure.axes)
    assert len(figure.legends[0].get_texts()) == 2


def exploration() -> pd.DataFrame:
    rows = [
        (mechanism, epsilon, measure, 0.5 / epsilon, 0.01)
        for mechanism in ("laplace", "edge_flip")
        for epsilon in (0.5, 1.0, 4.0)
        for measure in ("exists", "rmse_alpha", "rmse_beta", "ci_width", "noise_share")
    ]
    return pd.DataFrame(rows, columns=["mechanism", "epsilon", "measure", "value", "mcse"])


def test_an_exploration_has_a_panel_a_measure_and_its_mark():
    figure = draw_exploration(exploration(), MARK)
    assert figure.get_suptitle() == MARK
    shares, errors = figure.axes[0], figure.axes[1]
    assert shares.containers[0][0].get_ydata().tolist() == [100, 50, 12.5]
    assert errors.containers[1][0].get_ydata().tolist() == [1, 0.5, 0.125]
    assert len({axis.get_xlim() for axis in figure.axes[:5]}) == 1
    assert [text.get_text() for text in figure.axes[5].get_legend().get_texts()] == [
        "laplace", "edge_flip",
    ]  # fmt: skip


def test_what_no_release_has_is_said():
    frame = exploration()
    frame.loc[frame["measure"] != "exists", ["value", "mcse"]] = np.nan
    figure = draw_exploration(frame, MARK)
    assert figure.axes[1].texts[0].get_text() == "no estimate in\nany release"


@pytest.mark.parametrize(
    "figure",
    [
        lambda: draw_intervals(parameters(58), 0.95, "n = 58"),
        lambda: draw_intervals(parameters(300, 40, 3), 0.95, "n = 300"),
        lambda: draw_degrees(degrees(forced=True), 2.0, "n = 3"),
        lambda: draw_exploration(exploration(), MARK),
    ],
)
def test_figures_are_written_without_a_warning_and_alike_each_time(figure, tmp_path):
    first, again = (save_figure(figure(), tmp_path / name) for name in ("a", "b"))
    for one, other in zip(first, again):
        assert one.read_bytes() == other.read_bytes()
