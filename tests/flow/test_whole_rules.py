"""Which way a lead takes, from what was really sent to the pool that it ends in."""

from collections.abc import Mapping

import pytest

from tests.flow.world import Worlds, config

RULES = """
[[rules]]
id = "nordics"
when = 'lead.country in ["SE", "NO", "DK"]'
pool = "north"
[[rules]]
id = "ontario"
when = 'lead.state == "ON" || lead.postal_code.startsWith("012") || lead.postal_code == "0044"'
pool = "north"
[[rules]]
id = "abroad"
when = 'known.country && lead.country != "US"'
pool = "emea"
[[rules]]
id = "big"
when = "lead.employees > 100"
pool = "north"
[[rules]]
id = "rest"
when = "true"
pool = "main"
"""
MORE = """
[pools.north]
members = { ann = 1 }
[pools.emea]
members = { bob = 1 }
"""


@pytest.mark.parametrize(
    ("sent", "rule"),
    [
        ({"country": "NO"}, "nordics"),
        ({"country": "no"}, "nordics"),
        ({"country": "Norway"}, "nordics"),
        ({"state": "ON"}, "ontario"),
        ({"state": True}, "rest"),
        ({"zip": "01234"}, "ontario"),
        ({"zip": "0044"}, "ontario"),
        ({"zip": 1234}, "rest"),
        ({}, "rest"),
        ({"country": None}, "rest"),
        ({"country": ""}, "rest"),
        ({"country": " us "}, "rest"),
        ({"country": "US"}, "rest"),
        ({"country": "USA"}, "rest"),
        ({"country": "FR"}, "abroad"),
        ({"employees": "250"}, "big"),
        ({"employees": 250}, "big"),
        ({"employees": "1,200"}, "big"),
        ({"employees": None}, "rest"),
        ({"employees": "many"}, "rest"),
    ],
)
async def test_cases_118_and_119(world: Worlds, sent: Mapping[str, object], rule: str) -> None:
    """Norway is a country, a postal code is text, and a field without a value matches neither way."""
    text = config(rules=RULES, more=MORE).replace(
        'city = "city"', 'city = "city"\nstate = "state"\npostal_code = "zip"'
    )
    w = await world(text)
    await w.route({"email": "l1@gmail.com", **sent})
    (row,) = await w.fetch("select rule_id, status from lead")
    assert (row["rule_id"], row["status"]) == (rule, "assigned")
