"""Numbers under an axis: which are named, and that none runs into another."""

import math
from itertools import pairwise

import pytest

from p0sim.report.style import RC
from p0sim.report.wording import points_of, ticks_apart


def named(values, room):
    return [name for name in ticks_apart(values, room)[1] if name]


def test_every_power_of_ten_is_named_where_there_is_room():
    assert named([0.001, 0.01, 0.1, 1, 10, 100], 130) == ["0.001", "0.01", "0.1", "1", "10", "100"]


def test_where_there_is_none_names_are_left_out_evenly_and_the_ticks_stay():
    ticks, names = ticks_apart([0.001, 0.01, 0.1, 1, 10, 100], 102)
    assert ticks == [0.001, 0.01, 0.1, 1, 10, 100]
    assert names == ["0.001", "", "0.1", "", "10", ""]


def test_sizes_of_networks_are_written_whole():
    assert named([50, 100, 200, 400, 800, 1600, 3200], 400)[-2:] == ["1600", "3200"]


@pytest.mark.parametrize("room", [30, 60, 102, 400])
@pytest.mark.parametrize(
    "values",
    [[0.375, 0.461, 1.41, 1.46, 2], [1, 2, 5, 10, 20], [0.1, 0.2, 0.5, 1, 2, 5, 10], [3], [7, 7]],
)
def test_no_name_runs_into_another_and_the_first_is_there(values, room):
    ticks, names = ticks_apart(values, room)
    assert names[0]
    scale = 0.9 * room / (math.log(ticks[-1] / ticks[0]) or 1)
    ends = [
        (scale * math.log(tick) - half, scale * math.log(tick) + half)
        for tick, name in zip(ticks, names, strict=True)
        if (half := points_of(name, RC["xtick.labelsize"]) / 2)
    ]
    assert all(left[1] < right[0] for left, right in pairwise(ends))
