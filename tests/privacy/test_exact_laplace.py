"""The exact sampler: its cost as a fraction, its law, its ends, and where its bits come from.

Sampling checks compare p-values with goodness.FALSE_ALARM = 1e-6. The bits are the operating
system's, so no seed can be fixed: a run fails by chance with that probability a check.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from p0sim.privacy import exact_laplace as module
from p0sim.privacy.exact_laplace import exact_laplace, require_room
from tests.oracles.goodness import FALSE_ALARM, p_value
from tests.oracles.refusals import refusal

EPSILONS = ["0.1", "0.3", "0.7", "1", "2", "7/3", "1/3", "0.000001", "3.14159", "1000", "355/113"]
DRAWS = 200_000


@pytest.mark.parametrize("q", [2, 3, 4, 5, 10, 99, 560, 2**20 + 1])
def test_the_effective_epsilon_is_never_above_the_one_asked_for(q):
    """As exact fractions, for OpenDP's own bound as well; and hardly below."""
    for text in EPSILONS:
        epsilon = Fraction(text)
        noise = exact_laplace(6, 2 * (q - 1), epsilon)
        assert noise.effective_epsilon <= epsilon
        assert Fraction(noise.measurement.map(2 * (q - 1))) <= epsilon
        assert noise.effective_epsilon > epsilon * (1 - Fraction(1, 2**48))


def test_one_tenth_at_q_4():
    """6/0.1 as a float is 60, whose bound in floats is above 1/10: the next float is taken."""
    noise = exact_laplace(6, 6, Fraction(1, 10))
    assert noise.scale == math.nextafter(60.0, math.inf)
    assert noise.effective_epsilon <= Fraction(1, 10)


def draws(q: int, epsilon: str) -> tuple[np.ndarray, float]:
    noise = exact_laplace(DRAWS, 2 * (q - 1), Fraction(epsilon))
    return noise.add_to(np.zeros(DRAWS, dtype=np.int64), 0), noise.scale


def chi_square(sample: np.ndarray, scale: float) -> float:
    """p-value against scipy's law; large scales in cells of equal width."""
    reach = int(40 * scale) + 2
    width = max(1, int(scale / 10))
    edges = np.arange(-reach, reach + width, width)
    below = stats.dlaplace.cdf(np.append(edges[1:-1] - 1, np.inf), 1 / scale)
    counts = np.histogram(np.clip(sample, -reach, edges[-1] - 1), bins=edges)[0]
    return p_value(counts, np.maximum(np.diff(below, prepend=0), 0))


SLOW = [(5, "7/3"), (2, "6"), (2, "0.5"), (3, "1"), (5, "0.1"), (560, "1/3"), (3, "0.001")]


@pytest.mark.parametrize(
    ("q", "epsilon"),
    [(2, "1"), *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)],
)
def test_draws_follow_the_law(q, epsilon):
    """Chi-square of 200 000 draws; a scale five percent off must be found."""
    sample, scale = draws(q, epsilon)
    assert sample.dtype == np.int64
    assert chi_square(sample, scale) > FALSE_ALARM
    assert chi_square(sample, 1.05 * scale) < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "epsilon", "at_zero", "variance"),
    [(2, "1", 0.2449, 7.835), (3, "1", 0.1244, 31.834), (5, "0.1", 0.0062, 12799.83)],
)
def test_share_of_zeros_and_variance_are_those_worked_out(q, epsilon, at_zero, variance):
    """Within 5 standard errors, of kurtosis about 6, and the digits shown (false alarm 1e-6)."""
    sample, _ = draws(q, epsilon)
    error = math.sqrt(at_zero * (1 - at_zero) / DRAWS)
    assert np.mean(sample == 0) == pytest.approx(at_zero, abs=5 * error + 5e-5)
    assert np.var(sample) == pytest.approx(variance, rel=5 * math.sqrt(5.2 / DRAWS))


def test_large_values_stay_exact():
    """Noise of scale 2^-20 is 0: odd numbers above 2^53, which no float holds, come out whole."""
    values = np.array([2**53 + 1, 2**24 + 1, 2**61 - 1, 0], dtype=np.int64)
    noise = exact_laplace(4, 2, Fraction(2**21))
    np.testing.assert_array_equal(noise.add_to(values, 2**61), values)


def test_values_near_the_end_of_64_bits_are_refused_and_never_change_sign():
    noise = exact_laplace(4, 2, Fraction(1))
    refusal(lambda: noise.add_to(np.zeros(4, dtype=np.int64), 2**62 - 10), "below 2^62")
    require_room(2**62 - 2**20, noise.scale, 4)
    big = np.full(4, 2**62 - 2**20)
    assert (np.abs(noise.add_to(big, 2**62 - 2**20) - big) < 2**20).all()


@pytest.mark.parametrize("length", [3, 5])
def test_a_vector_of_another_length_is_refused(length):
    """OpenDP itself would take it."""
    noise = exact_laplace(4, 2, Fraction(1))
    refusal(lambda: noise.add_to(np.zeros(length, dtype=np.int64), 1), "values must be 4")


@pytest.mark.parametrize("epsilon", [Fraction(2**70), Fraction(1, 2**60)])
def test_a_scale_out_of_reach_is_refused(epsilon):
    """At scale 0 OpenDP would add no noise."""
    refusal(lambda: exact_laplace(4, 2, epsilon), "scale (sensitivity / epsilon) must be")


def test_without_opendp_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.measurements", None)
    refusal(lambda: exact_laplace(4, 2, Fraction(1)), "needs OpenDP", "pip install -e '.[release]'")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_does_not_repeat_its_parents_noise():
    code = (
        "import os\nimport numpy as np\nfrom fractions import Fraction\n"
        f"from {module.__name__} import exact_laplace\n"
        "noise = exact_laplace(40, 2, Fraction(1, 10))\n"
        "draw = lambda: print(noise.add_to(np.zeros(40, dtype=np.int64), 0).tolist(), flush=True)\n"
        "draw()\n"
        "for _ in range(3):\n    child = os.fork()\n    if child == 0:\n        draw()\n"
        "        os._exit(0)\n    os.waitpid(child, 0)\n"
        "draw()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(set(done.stdout.splitlines())) == 5
