"""Whose the lead is when its person is in the CRM already, by table and by what must hold for any of them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.config import Destination, Rule
from fairturn.config import Settings as Config
from fairturn.decide.existing import Policy, candidates, choice_rule, choose, few, free, policy_of
from fairturn.model import Owner, Person

THEN = datetime(2026, 1, 1, tzinfo=UTC)
ANN = Owner("005000000000001AAA", "user", active=True, name="Ann", email="ann@corp.com")
PARKED = Owner("005000000000002AAA", "user", active=True, name="Marketing Bot", email="bot@corp.com.invalid")
GONE = Owner("005000000000003AAA", "user", active=False, name="Gone")
QUEUE = Owner("00G000000000001AAA", "queue", active=True, name="Inbound")
POLICY = Policy(parked_owners=("bot@corp.com",), recycle_statuses=("Recycled", "unqualified"))


def person(number=1, owner=ANN, kind="Lead", *, age=0, status=None, converted=False, **more):
    made = THEN - timedelta(days=age) if age is not None else None
    record = f"{'003' if kind == 'Contact' else '00Q'}{number:012d}AAA"
    return Person(record, kind, "jane@acme.com", owner, made, status, converted=converted, **more)


TABLE = [
    # who is there, whether a Lead is made all the same -> the record, who keeps it
    ("nobody", [], "missing", None, None),
    ("an active owner", [person()], "missing", 1, ANN),
    ("a queue", [person(owner=QUEUE)], "missing", 1, None),
    ("an inactive owner", [person(owner=GONE)], "missing", 1, None),
    ("a parked owner, by e-mail, in a sandbox", [person(owner=PARKED)], "missing", 1, None),
    ("no owner", [person(owner=None)], "missing", 1, None),
    ("a status to be recycled, in another case", [person(status="UNQUALIFIED")], "missing", 1, None),
    ("a status that is not", [person(status="Working")], "missing", 1, ANN),
    ("a Contact", [person(kind="Contact")], "missing", 1, ANN),
    ("a Contact, and a Lead always", [person(kind="Contact")], "always", None, None),
    ("a Contact and a Lead, and a Lead always", [person(1, GONE), person(2, kind="Contact")], "always", 1, None),
    ("a converted Lead alone: it is frozen", [person(converted=True)], "missing", None, None),
    ("a converted Lead and its Contact", [person(1, converted=True), person(2, kind="Contact")], "missing", 2, ANN),
    ("the oldest with an owner", [person(1, QUEUE, age=9), person(2, age=3), person(3, age=5)], "missing", 3, ANN),
    ("the oldest where nobody keeps any", [person(1, QUEUE, age=2), person(2, GONE, age=5)], "missing", 2, None),
    ("one without a date is the youngest", [person(1, age=None), person(2, age=1)], "missing", 2, ANN),
]


@pytest.mark.parametrize(("people", "create", "record", "keeps"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE])
def test_who_is_there_decides_what_is_written_and_whose_it_is(people, create, record, keeps):
    choice = choose(people, POLICY, create)
    assert (choice.record and int(choice.record.record_id[3:15])) == record
    assert choice.keeps == keeps
    others = {one.record_id for one in people} - ({choice.record.record_id} if choice.record else set())
    assert set(choice.others) == others
    assert all(other in choice.why for other in others)  # every id is named


OWNERS = [ANN, PARKED, GONE, QUEUE, None]
people = st.lists(
    st.builds(
        lambda number, owner, kind, age, status, converted: person(
            number, owner, kind, age=age, status=status, converted=converted and kind == "Lead"
        ),
        st.integers(1, 99),
        st.sampled_from(OWNERS),
        st.sampled_from(["Lead", "Contact"]),
        st.one_of(st.none(), st.integers(0, 5)),
        st.sampled_from([None, "Open", "recycled"]),
        st.booleans(),
    ),
    max_size=6,
    unique_by=lambda one: one.record_id,
)
create = st.sampled_from(["missing", "always"])


@settings(max_examples=150)
@given(people, create, st.randoms())
def test_the_order_in_which_they_are_told_does_not_matter(found, create, dice):
    shuffled = list(found)
    dice.shuffle(shuffled)
    one, other = choose(found, POLICY, create), choose(shuffled, POLICY, create)
    assert (one.record, one.keeps, set(one.others)) == (other.record, other.keeps, set(other.others))


@settings(max_examples=150)
@given(people, create)
def test_no_lead_is_taken_from_an_active_owner(found, create):
    """Of what may be written at all: if any of it has an active owner, such an owner keeps the lead."""
    choice = choose(found, POLICY, create)
    able = [one for one in found if not one.converted and (create == "missing" or one.object_type != "Contact")]
    owned = [one for one in able if free(one, POLICY) is None]
    assert (choice.record is not None) == bool(able)
    assert (choice.keeps is not None) == bool(owned)
    if choice.record is not None and choice.keeps is not None:
        assert choice.keeps == choice.record.owner
        assert not any((one.created_at or THEN) < (choice.record.created_at or THEN) for one in owned)
    if choice.record is not None:
        assert not choice.record.converted


@settings(max_examples=100)
@given(people, st.integers(2, 4))
def test_of_many_records_those_stay_that_a_rule_could_choose(found, most):
    kept = few(found, POLICY, most)
    assert len(kept) == min(most, len(found))
    assert all(one in kept for one in candidates(found, POLICY))
    for way in ("missing", "always"):
        assert choose(kept, POLICY, way).record == choose(found, POLICY, way).record


def config(**rule):
    crm = {"type": "salesforce", "recycle_statuses": ["Recycled"]}
    return Config.model_validate(
        {"destinations": {"crm": crm}, "rules": [{"id": "rest", "when": "true", "pool": "main"} | rule]}
    )


def test_a_rule_may_assign_what_somebody_owns():
    keep, assign = config(), config(existing="assign")
    kept = choice_rule(keep)("crm", keep.rules[0], [person()])
    taken = choice_rule(assign)("crm", assign.rules[0], [person()])
    assert (kept.keeps, taken.keeps) == (ANN, None)
    assert taken.record == kept.record
    assert "rule rest assigns it all the same" in taken.why


def test_the_destinations_words_are_its_own():
    settings = config()
    assert choice_rule(settings)("crm", settings.rules[0], [person(status="recycled")]).keeps is None
    assert choice_rule(settings)("other", Rule(id="r", when="true", pool="main"), [person(status="recycled")]).keeps


def test_hubspot_has_contacts_alone():
    hubspot = policy_of(Destination.model_validate({"type": "hubspot"}))
    assert hubspot.contact is None
    contact = Person("501", "contacts", "a@b.com", ANN)
    assert choose([contact], hubspot, "always").record == contact
