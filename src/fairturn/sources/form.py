"""HTML forms, and the form builders that post like one: field names are what a person typed into the builder.

Laid open:
- `fields.<slug of the name>`: `Work Email`, `work-email`, `form_fields[work_email]` are all `fields.work_email`;
- a value that stands alone in a list is the value; a field sent several times stays a list;
- `data.json` (Unbounce) and `rawRequest` (Jotform) hold the form again, as JSON in a field: its fields count as well;
- `utm.source`, `utm.gclid` ...: from fields of that name, or from the address of the page.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Final

from fairturn.sources.format import Format
from fairturn.sources.labels import campaign, campaign_of, slug

WRAPPED: Final = ("data.json", "rawRequest")
PAGES: Final = ("page_url", "page-url", "source_url", "page", "url", "landing_page", "referrer", "referer")
BRACKETED: Final = re.compile(r"[^\[\]]*\[([^\[\]]+)\](?:\[(?:value|0)?\])?")


def flatten(payload: object) -> object:
    if not isinstance(payload, dict):
        return payload
    given = {name: alone(value) for name, value in payload.items()}
    for name in WRAPPED:
        for key, value in unwrapped(given.get(name)).items():
            given.setdefault(key, alone(value))
    fields: dict[str, object] = {}
    for name, value in given.items():
        bracketed = BRACKETED.fullmatch(name)
        for short in (slug(name), slug(bracketed[1]) if bracketed else ""):
            if short:
                fields.setdefault(short, value)
    pages = [campaign_of(given[page]) for page in PAGES if page in given]
    utm = campaign(given.items())
    for page in pages:
        utm = page | utm
    return given | {"fields": fields, "utm": utm}


def alone(value: object) -> object:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def unwrapped(text: object) -> dict[str, object]:
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return {}
    try:
        found = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


FORMAT = Format(
    name="form",
    about="HTML forms and form builders that post field by field",
    flatten=flatten,
    sample="examples/bodies/form.txt",
    content_type="application/x-www-form-urlencoded",
    verify={"type": "shared_secret", "where": "query", "name": "key"},
    map={
        "email": ("fields.email", "fields.work_email", "fields.your_email", "fields.e_mail"),
        "first_name": ("fields.first_name", "fields.firstname", "fields.vorname"),
        "last_name": ("fields.last_name", "fields.lastname", "fields.nachname"),
        "full_name": ("fields.full_name", "fields.name", "fields.your_name"),
        "company": ("fields.company", "fields.company_name", "fields.organization", "fields.firma"),
        "title": ("fields.job_title", "fields.title"),
        "phone": ("fields.phone", "fields.phone_number", "fields.telephone", "fields.telefon"),
        "country": ("fields.country", "fields.land"),
        "employees": ("fields.employees", "fields.company_size"),
        "message": ("fields.message", "fields.comments", "fields.your_message"),
        "campaign": "utm.campaign",
    },
)
