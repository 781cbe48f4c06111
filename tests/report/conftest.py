"""One fake study for all tests of the room."""

import pytest

from p0sim.performance.quantiles import points_summary, qq_summary, zipper_summary
from p0sim.performance.summarise import performance
from tests.report.fake_study import contrasts, fake_study


@pytest.fixture(scope="session")
def study():
    """Frames cells, replicates, estimates: 2 sizes, 3 epsilons, 4 L, 3 methods, 200 replicates."""
    return fake_study()


@pytest.fixture(scope="session")
def asked(study):
    """Estimands of every cell."""
    cells, _, _ = study
    return {cell.cell: contrasts(cell.n) for cell in cells.itertuples()}


@pytest.fixture(scope="session")
def measured(study, asked):
    """Their performance."""
    cells, replicates, estimates = study
    return performance(cells, replicates, estimates, estimands=asked)


@pytest.fixture(scope="session")
def summaries(study, asked):
    """Their summaries, by name."""
    cells, replicates, estimates = study
    makers = {"qq": qq_summary, "zipper": zipper_summary, "points": points_summary}
    return {
        name: make(estimates, cells, replicates, estimands=asked) for name, make in makers.items()
    }
