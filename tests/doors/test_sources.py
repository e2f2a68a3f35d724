"""Vendors' bodies, as they come and as they should not, through their flatteners and into lead fields."""

import json
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from fairturn.config import Settings, Source, Verify
from fairturn.decide.mapping import Mapped, compile_mapper
from fairturn.errors import ConfigError
from fairturn.sources import FORMATS, flattener
from fairturn.sources.labels import campaign_of, slug

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 3, 2, 10, 5, tzinfo=UTC)


def body(name: str) -> object:
    """As intake parses it: JSON, or a form with repeated fields as lists."""
    known = FORMATS[name]
    text = (ROOT / known.sample).read_text()
    if known.content_type == "application/json":
        return json.loads(text)
    return {key: values if len(values) > 1 else values[0] for key, values in parse_qs(text).items()}


def mapped(name: str, payload: object, **changes: object) -> Mapped:
    known = FORMATS[name]
    source = Source.model_validate(
        {
            "verify": {"type": "unsigned"},
            "format": name,
            "map": dict(known.map),
            "ids": dict(known.ids),
            "occurred_at": known.occurred_at,
            **changes,
        }
    )
    return compile_mapper(name, source, Settings(), flattener(name))(payload, NOW)


def test_a_typeform_response():
    lead = mapped("typeform", body("typeform"))
    assert dict(lead.values) == {
        "email": "anna.vanderberg@kanaalhuis.nl",
        "first_name": "Anna",
        "last_name": "van der Berg",
        "company": "Kanaalhuis B.V.",
        "phone": "+31201234567",
        "country": "NL",
        "score": 9.0,
        "campaign": "revops-guide",
    }
    assert lead.ids == {"response": "a3a12ec67a1365927098a606107fac15"}
    assert lead.occurred_at == datetime(2026, 3, 2, 10, 0, 4, tzinfo=UTC)
    assert lead.marks == ("employees: not a number",)  # "51-200" is no number of people


def test_typeform_choices_questions_and_the_raw_way():
    lead = mapped(
        "typeform",
        body("typeform"),
        map={
            "message": "fields.what_brings_you_here",
            "company": "fields.company",
            "email": "form_response.answers[?type=='email'].email | [0]",
            "title": "fields.company_size",
        },
    )
    assert lead.values["message"] == "Lead routing; Reporting"
    assert lead.values["title"] == "51-200"
    assert lead.values["email"] == "anna.vanderberg@kanaalhuis.nl"


def test_a_hubspot_workflow_contact():
    lead = mapped("hubspot_workflow", body("hubspot_workflow"))
    assert dict(lead.values) == {
        "email": "t.okafor@brightwell-energy.com",
        "first_name": "Tunde",
        "last_name": "Okafor",
        "company": "Brightwell Energy",
        "title": "Head of Revenue Operations",
        "phone": "+441614960000",  # by the lead's own country
        "country": "GB",
        "employees": 850,  # the contact's own is blank: the company's counts
        "score": 37.0,
        "lead_source": "PAID_SEARCH",
        "campaign": "brand-uk",  # of the latest form, not of the first
        "crm_lead_id": "7301255",  # the contact that HubSpot has
    }
    assert lead.ids == {"contact": "7301255"}
    assert lead.occurred_at == datetime(2026, 3, 2, 10, 0, 1, 977000, tzinfo=UTC)
    assert not lead.marks


def test_a_hubspot_contact_without_the_email_property_is_known_by_its_profile():
    payload = body("hubspot_workflow")
    assert isinstance(payload, dict)
    del payload["properties"]["email"]
    payload["identity-profiles"][0]["identities"].insert(0, {"type": "EMAIL", "value": "old@brightwell-energy.com"})
    assert mapped("hubspot_workflow", payload).values["email"] == "t.okafor@brightwell-energy.com"


def test_a_html_form():
    lead = mapped("form", body("form"))
    assert dict(lead.values) == {
        "email": "joao.pereira@atlantica-logistics.com",
        "first_name": "João",
        "last_name": "Pereira",
        "company": "Atlântica Logistics",
        "phone": "+14155550132",
        "country": "US",
        "employees": 1200,
        "message": "We route about 40 leads a day\r\nand would like to see a demo.",
        "campaign": "spring-launch",
    }


@pytest.mark.parametrize(
    "payload",
    [
        {"email": ["a@b.com"], "page_uuid": ["u"]},  # a decoder that makes a list of everything
        {"form_fields[email]": "a@b.com"},  # Elementor
        {"fields[email][value]": "a@b.com"},
        {"Work Email *": "a@b.com"},
        {"page_id": "u", "data.json": '{"email":["a@b.com"],"ip_address":["1.1.1.1"]}'},  # Unbounce
        {"submissionID": "6", "rawRequest": '{"slug":"submit/1","email":"a@b.com"}'},  # Jotform with named fields
    ],
)
def test_form_builders_spellings(payload):
    assert mapped("form", payload).values["email"] == "a@b.com"


def test_plain_json():
    lead = mapped("plain", body("plain"))
    assert lead.values["email"] == "maya.lindholm@northwind-labs.com"
    assert lead.values["country"] == "SE"
    assert lead.values["employees"] == 240


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_proves_itself_by_a_known_verifier(name):
    """What a format says of its signature is a whole [sources.x.verify] once the secrets are named."""
    verify = TypeAdapter(Verify).validate_python({**FORMATS[name].verify, "secrets": ["env:SECRET"]})
    assert verify.type == FORMATS[name].verify["type"]


def test_an_unknown_format_names_the_known_ones():
    with pytest.raises(ConfigError) as caught:
        flattener("typform", "sources.web.format")
    assert str(caught.value) == (
        "sources.web.format: there is no format 'typform'. Did you mean \"typeform\"? "
        'The formats are plain, form, typeform, hubspot_workflow; "plain" takes any JSON object.'
    )


NAMES = st.sampled_from(
    [
        "form_response",
        "answers",
        "field",
        "definition",
        "fields",
        "properties",
        "id",
        "ref",
        "title",
        "type",
        "email",
        "text",
        "choice",
        "choices",
        "labels",
        "hidden",
        "calculated",
        "score",
        "value",
        "vid",
        "identity-profiles",
        "identities",
        "form-submissions",
        "timestamp",
        "page-url",
        "associated-company",
        "data.json",
        "rawRequest",
        "page_url",
        "utm_source",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(NAMES | st.text(max_size=12), inside, max_size=5),
    max_leaves=25,
)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(payload=JSON)
def test_no_shape_upsets_a_flattener(name, payload):
    flat = FORMATS[name].flatten(payload)
    assert isinstance(flat, dict) == isinstance(payload, dict)
    if isinstance(flat, dict) and isinstance(payload, dict):
        assert flat.keys() >= payload.keys()


@given(st.text(max_size=60))
def test_no_text_upsets_names_and_addresses(text):
    assert slug(slug(text)) == slug(text)
    assert isinstance(campaign_of("https://x?" + text), dict)
    assert isinstance(campaign_of(text + "?utm_source=a"), dict)


def test_slugs_can_be_written_in_a_mapping():
    assert [slug(label) for label in ("Work Email *", "e-mail", "Größe?", "Société", "  ", "q3_name")] == [
        "work_email", "e_mail", "grosse", "societe", "", "q3_name"
    ]  # fmt: skip
