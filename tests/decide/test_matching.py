"""Which events are one lead, which leads one account. Cases 27, 29, 46, 71, 76, 77, 80."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairturn.config import Settings
from fairturn.decide.addresses import email_facts
from fairturn.decide.mapping import Mapped
from fairturn.decide.matching import Group, account_keys, bounded, digest, email_key, group, key, keys_of
from fairturn.model import Key

SETTINGS = Settings.model_validate({"routing": {"same_account": [["acme.com", "Acme.de", "eu.acme-group.com"]]}})


def event(ids: dict[str, str] | None = None, **values: str) -> Mapped:
    return Mapped(values, frozenset(), ids or {}, datetime(2026, 3, 2, tzinfo=UTC))


def keys(mapped: Mapped, event_id: bytes | None = None, source: str = "web") -> tuple[Key, ...]:
    address = mapped.values.get("email")
    assert address is None or isinstance(address, str)
    return keys_of(source, mapped, email_facts(address, SETTINGS.organisation, SETTINGS.routing), event_id)


def account(email: str | None = None, **values: str) -> tuple[str, ...]:
    return account_keys(values, email_facts(email, SETTINGS.organisation, SETTINGS.routing), SETTINGS)


def test_the_keys_of_an_event():
    found = keys(event({"visitor": "7615917337495251231"}, email="Ann@x.com", crm_lead_id="00Q5g00000abCdE"))
    assert [(one.kind, one.value) for one in found] == [
        ("email", "ann@x.com"), ("web:visitor", "7615917337495251231"), ("crm:lead", "00Q5g00000abCdE")
    ]  # fmt: skip
    assert {len(one.digest) for one in found} == {16}
    assert email_key(email_facts("ANN@x.com", SETTINGS.organisation, SETTINGS.routing)) == found[0]


def test_case_46_ids_that_differ_in_the_last_digit_are_two_leads():
    one, other = (keys(event({"lead": f"761591733749525123{last}"})) for last in "01")
    assert len(group([one, other], {})) == 2


def test_one_sources_id_says_nothing_of_anothers():
    assert keys(event({"id": "7"}), source="web")[0].digest != keys(event({"id": "7"}), source="chat")[0].digest


def test_an_event_that_names_nobody_is_a_lead_of_its_own_each_time_it_is_taken():
    assert keys(event(first_name="Ann")) == ()
    assert keys(event(first_name="Ann"), b"1" * 16) == keys(event(first_name="Ann"), b"1" * 16) == (
        key("event", "31" * 16),
    )  # fmt: skip
    assert keys(event(email="n/a"), b"1" * 16)[0].kind == "event"


def test_a_salesforce_id_in_fifteen_or_eighteen_characters_is_one_id():
    short, long = keys(event(crm_lead_id="001A0000006Vm9r")), keys(event(crm_lead_id="001A0000006Vm9rIAC"))
    assert short == long
    assert keys(event(crm_lead_id="001a0000006vm9r")) != short
    assert keys(event(crm_lead_id="001A0000006Vm9rXXX")) != short  # eighteen characters of something else


def test_lengths_are_part_of_what_is_hashed():
    assert digest("a", "bc") != digest("ab", "c")
    assert digest("a", "\ud800") == digest("a", "\ud800")
    assert len(key("a", "x" * 10_000).value) == 500
    assert key("a", "x" * 10_000).digest != key("a", "x" * 9_999).digest


def test_case_27_and_29_same_email_one_lead_same_moment_two_leads():
    one, two, three = keys(event(email="a@x.com")), keys(event(email="A@x.com")), keys(event(email="b@x.com"))
    assert [found.events for found in group([one, two, three], {})] == [(0, 1), (2,)]


def test_a_third_event_joins_two():
    only_mail, only_id = keys(event(email="a@x.com")), keys(event({"visitor": "v"}))
    both = keys(event({"visitor": "v"}, email="a@x.com"))
    found = group([only_mail, only_id, both], {only_mail[0].digest: 9, only_id[0].digest: 4})
    assert found == [Group((0, 1, 2), (4, 9), (*only_mail, *only_id))]


def test_different_keys_of_one_lead_meet_in_it():
    one, other = keys(event(email="a@x.com")), keys(event(email="a.b@x.com"))  # case 73
    assert group([one, other], {one[0].digest: 5, other[0].digest: 5}) == [Group((0, 1), (5,), (*one, *other))]


def test_case_76_free_mail_is_no_company():
    assert account("someone@gmail.com") == account("someone@gmx.com") == account("a@yopmail.com") == ()
    assert account("a@mozmail.com") == account("not an address") == account(None) == ()  # case 80
    assert account("a@acme.test") == ("domain:acme.test",)


@pytest.mark.parametrize(
    ("email", "found"),
    [
        ("a@acme.test", "acme.test"),
        ("a@www.acme.test", "acme.test"),
        ("a@eu.acme.test", "acme.test"),
        ("A@ACME.TEST", "acme.test"),
        ("a@acme.co.uk", "acme.co.uk"),
        ("a@acme.de", "acme.com"),
        ("a@mail.acme.de", "acme.com"),
        ("a@eu.acme-group.com", "acme.com"),
        ("a@us.acme-group.com", "acme-group.com"),  # only the one name below it is listed
    ],
)
def test_case_77_one_account_of_a_domain(email, found):
    assert account(email) == (f"domain:{found}",)


def test_case_77_a_public_suffix_is_never_a_group():
    assert account("a@co.uk") == ()


def test_the_crms_account_comes_first_and_joins_the_domain():
    assert account("a@acme.com", crm_account_id="001A0000006Vm9rIAC") == ("crm:001A0000006Vm9r", "domain:acme.com")
    assert account("a@gmail.com", crm_account_id="001A0000006Vm9r") == ("crm:001A0000006Vm9r",)
    assert account("a@acme.com", crm_account_id="n/a") == ("domain:acme.com",)


def test_an_accounts_key_fits_its_column():
    host = ".".join(["a" * 60] * 4) + ".com"
    (found,) = account(f"a@{host}")
    assert len(found) <= 255
    one, other = bounded("crm:" + "x" * 400 + "1"), bounded("crm:" + "x" * 400 + "2")
    assert one != other
    assert max(len(one), len(other)) <= 255


SOME_KEYS = [key("email", f"{n}@x.com") for n in range(8)]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(SOME_KEYS), max_size=3).map(tuple), max_size=12),
    st.dictionaries(st.sampled_from([one.digest for one in SOME_KEYS]), st.integers(1, 4)),
)
def test_groups_are_the_connected_parts(events, bound):
    found = group(events, bound)
    assert sorted(place for one in found for place in one.events) == list(range(len(events)))
    assert [one.events[0] for one in found] == sorted(one.events[0] for one in found)
    meets = [{k.digest for k in one.keys} | set(one.leads) for one in found]
    for here, one in enumerate(found):
        assert list(one.leads) == sorted({bound[k.digest] for k in one.keys if k.digest in bound})
        assert {k for place in one.events for k in events[place]} == set(one.keys)
        for there in meets[here + 1 :]:
            assert not meets[here] & there  # nothing that should have met stayed apart
        assert connected([events[place] for place in one.events], bound)  # nothing met without cause


def connected(events: list[tuple[Key, ...]], bound: dict[bytes, int]) -> bool:
    rest = [{k.digest for k in keys} | {bound[k.digest] for k in keys if k.digest in bound} for keys in events]
    reached, grew = set(rest.pop(0)), True
    while rest and grew:
        grew = False
        for one in list(rest):
            if one & reached:
                reached |= one
                rest.remove(one)
                grew = True
    return not rest


def test_a_chain_of_twenty_thousand_events_is_one_lead_from_either_end():
    chain = [(key("email", f"{n}@x.com"), key("email", f"{n + 1}@x.com")) for n in range(20_000)]
    assert len(group(chain, {})) == 1
    assert len(group(chain[::-1], {})) == 1
