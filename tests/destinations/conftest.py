import pytest

from tests.destinations.simulated import simulated


@pytest.fixture(scope="session")
def salesforce_process():
    with simulated() as found:
        yield found


@pytest.fixture
def org(salesforce_process):
    """A simulated org with two reps, a deactivated one, a queue and two accounts."""
    salesforce_process.start()
    return salesforce_process
