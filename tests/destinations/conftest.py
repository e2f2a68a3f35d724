import pytest

from tests.destinations.hubspot_simulated import hubspot_account
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


@pytest.fixture(scope="session")
def hubspot_process():
    with hubspot_account() as found:
        yield found


@pytest.fixture
def hub(hubspot_process):
    """A simulated HubSpot account with two owners, an archived one, our key and two companies."""
    hubspot_process.start()
    return hubspot_process
