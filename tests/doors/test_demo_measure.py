"""Evidence to numbers, numbers to sentences."""

from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from fairturn.assemble.demo.crm import Held
from fairturn.assemble.demo.hubspot import HUBSPOT
from fairturn.assemble.demo.measure import Evidence, PoolSummary, Summary, is_bad, lost, percentiles, pools
from fairturn.assemble.demo.salesforce import SALESFORCE
from fairturn.assemble.demo.scenario import Address, Company, Person
from fairturn.assemble.demo.there import TYPED, Kind, Known, There, compared
from fairturn.assemble.demo.words import Conditions, report, share
from fairturn.cli import app

EVIDENCE = Evidence(
    people={},
    records={
        "a@x.com": [Held("1", ("a@x.com",), "CTO", 40.0, "u1")],
        "b@x.com": [Held("2", ("b@x.com",), "CTO", None, "u1")],
        "d@x.com": [Held("3", ("d@x.com",), None, None, "u1"), Held("4", ("d@x.com",), "CTO", 40.0, "u1")],
    },
    duplicated=0, repeats=0, taken=0, data_calls=1, reads=0, failed_calls=0, rows=2, peak=1, overlaps=0, dropped=0,
)  # fmt: skip
THERE = There(
    people=100, kinds={"rep": 30, "free": 20, "colleague": 15, "left": 15, "elsewhere": 10, "customer": 10},
    owners_kept=65, assigned=35,
)  # fmt: skip
GOOD = Summary(
    leads=500, events=1500, assigned=476, held=0, parked=0, owned=24, in_crm=500, failed=0, lost=0, duplicated=0,
    seconds_to_crm={"p50": 2.6, "p95": 3.9, "p99": 4.2}, api_calls={"salesforce": 31}, reads=12, writes_per_lead=1.8,
    calls_one_per_event=1500, failed_calls=0, there=THERE,
    pools={"emea": PoolSummary({"dana": 30, "emil": 20, "fay": 20}, 0.9, {"dana": -1}, 40, 7)}, audited=True,
)  # fmt: skip
UNDER = Conditions(SALESFORCE, seconds=60, crm_seconds=0.5, record_ms=10, again=63, junk=30, forged=5)


@pytest.mark.parametrize(
    ("person", "missing"),
    [
        (Person("a@x.com", "CTO", 40.0), False),
        (Person("a@x.com", None, None), False),
        (Person("a@x.com", "CTO", 41.0), True),  # its last event did not arrive
        (Person("b@x.com", "CTO", 40.0), True),
        (Person("c@x.com", None, None), True),
        (Person("d@x.com", "CTO", 40.0), False),  # a converted Lead is as it was; the Contact has it
    ],
)
def test_lost_is_who_is_missing_or_not_complete(person, missing):
    assert lost([person], EVIDENCE) == ((person.email,) if missing else ())


@pytest.mark.parametrize(
    ("status", "delivered", "outcome", "bad"),
    [
        (200, True, "created", False),
        (200, True, "updated", False),
        (200, True, "UNABLE_TO_LOCK_ROW", True),
        (503, True, "created", True),
        (200, False, "created", True),
        (None, False, "created", True),
    ],
)
def test_a_failed_call_is_one_that_failed_for_anybody(status, delivered, outcome, bad):
    assert is_bad({"status": status, "delivered": delivered, "rows": [{"outcome": outcome}]}) is bad


def test_percentiles_are_values_that_occurred():
    assert percentiles([float(n) for n in range(100, 0, -1)]) == {"p50": 50.0, "p95": 95.0, "p99": 99.0}
    assert percentiles([1.0]) == {"p50": 1.0, "p95": 1.0, "p99": 1.0}
    assert percentiles([]) == {"p50": 0.0, "p95": 0.0, "p99": 0.0}


@pytest.mark.parametrize(
    "change",
    [
        {"lost": 1},
        {"duplicated": 1},
        {"audited": False},
        {"pools": {"emea": PoolSummary({}, 1.0, {})}},
        {"there": replace(THERE, owners_taken=1)},
        {"there": replace(THERE, new_records=1)},
        {"there": replace(THERE, written_over=1)},
    ],
)
def test_it_is_good_only_if_nothing_is_wrong(change):
    assert GOOD.ok
    assert not replace(GOOD, **change).ok


def test_the_json_is_the_contract():
    found: dict[str, Any] = GOOD.as_json()
    assert list(found) == [
        "leads", "events", "assigned", "held", "parked", "owned", "in_crm", "failed", "lost", "duplicated",
        "seconds_to_crm", "api_calls", "reads", "writes_per_lead", "calls_one_per_event", "failed_calls", "pools",
        "there",
    ]  # fmt: skip
    assert found["pools"] == {
        "emea": {
            "counts": {"dana": 30, "emil": 20, "fay": 20},
            "max_deviation": 0.9,
            "credit": {"dana": -1},
            "kept": {"company": 40, "crm": 7},
        }
    }
    assert found["assigned"] + found["held"] + found["parked"] + found["owned"] == found["leads"]
    assert found["there"] == {
        "people": 100, "kinds": THERE.kinds, "owners_kept": 65, "assigned": 35, "owners_taken": 0, "new_records": 0,
        "written_over": 0,
    }  # fmt: skip


def test_the_summary_speaks_an_operators_words():
    said = "\n".join(report(GOOD, UNDER))
    assert "500 leads, 1,500 events in 60 s." in said
    assert "In the CRM: 500, lost 0, twice 0." in said
    assert "31 API calls instead of 1,500, none failed; 12 of them asked who is there." in said
    assert "100 of them were there already: 30 Leads of a rep, 20 in a queue," in said
    assert "65 stayed with their owner (24 of these with somebody who is no rep), 35 went to a rep." in said
    assert "New records for them: 0, owners taken: 0, typed titles written over: 0." in said
    assert "7 stayed with the rep whom the CRM had and 40 went to the rep who has their company" in said
    assert "furthest from fair share: 0.90 of a lead" in said
    assert "0.5 s a request and 10 ms a record" in said
    assert "Lead.Account__c" in said
    assert not {"linger", "lease", "settle", "verdict"} & set(said.replace(",", " ").split())


def test_a_hubspot_without_anybody_is_reported_too():
    said = "\n".join(report(replace(GOOD, there=There()), replace(UNDER, crm=HUBSPOT)))
    assert "HubSpot is simulated: 0.5 s a request and 10 ms a record.\n" in said
    assert "already" not in said


KNOWN = Address("A", "B", "a@x.com", Company("X", "x.com", 10, "Germany", ""))


def one(kind: Kind, owner: str | None, title: str | None, *more: Held) -> dict[str, list[Held]]:
    return {"a@x.com": [Held("1", ("a@x.com",), title, None, owner), *more]}


@pytest.mark.parametrize(
    ("kind", "before", "after", "wanted"),
    [
        ("rep", ("u1", None), one("rep", "u1", "CTO"), There(1, owners_kept=1)),
        ("rep", ("u1", None), one("rep", "u2", "CTO"), There(1)),  # that it was taken the simulator says
        ("free", ("q1", None), one("free", "u2", "CTO"), There(1, assigned=1)),
        ("free", ("q1", None), one("free", "q1", "CTO"), There(1)),
        ("left", ("u9", TYPED), one("left", "u1", TYPED), There(1, assigned=1)),
        ("left", ("u9", TYPED), one("left", "u1", "CTO"), There(1, assigned=1, written_over=1)),
        (
            "customer", ("u1", None), one("customer", "u1", None, Held("2", ("a@x.com",), "CTO", None, "u2")),
            There(1, owners_kept=1, new_records=1),
        ),
        ("rep", ("u1", None), {}, There(1)),
    ],
)  # fmt: skip
def test_what_became_of_those_who_were_there(kind, before, after, wanted):
    owner, title = before
    found = compared([Known(KNOWN, kind, "Ann", title)], one(kind, owner, title), after, taken=0)
    assert replace(found, kinds={}) == wanted
    assert found.kinds[kind] == 1


def test_who_is_lost_is_named():
    said = "\n".join(report(replace(GOOD, lost=7, missing=("a@x.com", "b@x.com")), UNDER))
    assert "a@x.com, b@x.com and 5 more" in said


def test_almost_a_lead_is_not_shown_as_a_lead():
    assert share(0.9996) == "0.99"
    assert share(1.0) == "1.00"
    assert share(0.5) == "0.50"


def test_reps_without_a_lead_are_counted_too():
    audit = {"pools": {"enterprise": {"max_deviation": 0.5, "credit": {}}}}
    assert pools({"enterprise": {"ben": 2}}, {"enterprise": (1, 3)}, audit) == {
        "enterprise": PoolSummary({"ada": 0, "ben": 2, "cleo": 0}, 0.5, {}, 1, 3)
    }


def test_a_mistyped_path_is_found_before_the_minute_is_spent(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--json", str(tmp_path / "no" / "out.json")])
    assert done.exit_code == 2
    assert "cannot be written" in done.stderr
