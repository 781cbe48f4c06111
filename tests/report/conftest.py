"""One fake study for all tests of the room."""

import pytest

from p0sim.performance.summarise import performance
from tests.report.fake_study import contrasts, fake_study


@pytest.fixture(scope="session")
def study():
    """Frames cells, replicates, estimates: 2 sizes, 3 epsilons, 4 L, 3 methods, 200 replicates."""
    return fake_study()


@pytest.fixture(scope="session")
def measured(study):
    """Their performance."""
    cells, replicates, estimates = study
    asked = {cell.cell: contrasts(cell.n) for cell in cells.itertuples()}
    return performance(cells, replicates, estimates, estimands=asked)
