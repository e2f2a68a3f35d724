"""The table of what the simulators do says where each behaviour is known from, and names switches that exist."""

from dataclasses import fields

import pytest

from crmsim import fidelity
from crmsim.hubspot.switches import Switches as HubspotSwitches
from crmsim.salesforce.switches import Switches as SalesforceSwitches

TABLES = [("salesforce", fidelity.SALESFORCE, SalesforceSwitches), ("hubspot", fidelity.HUBSPOT, HubspotSwitches)]


@pytest.mark.parametrize(("crm", "groups", "switches"), TABLES)
def test_each_behaviour_has_a_source_a_confidence_and_switches_that_exist(crm, groups, switches):
    behaviours = [item for group in groups.values() for item in group]
    known = {field.name for field in fields(switches)}
    named = {name.strip() for item in behaviours for name in (item.switch or "").split(",") if name.strip()}
    assert named <= known, f"no such switches: {named - known}"
    assert not [item.name for item in behaviours if item.confidence not in fidelity.CONFIDENCES]
    assert not [item.name for item in behaviours if not item.source]
    assert len({item.name for item in behaviours}) == len(behaviours)
