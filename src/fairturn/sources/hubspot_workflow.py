"""HubSpot's workflow action "Send a webhook": a whole contact in the shape of the old contacts API.

Laid open, beside the payload as it came:
- `properties.<name>`: the value itself, where HubSpot sends {"value": ..., "versions": [...]};
- `company.<name>`: the same for the associated company, and `company.id`;
- `form`: the latest form submission, its names with underscores (`form.page_url`), and `utm.source` ... of its page;
- `email`: the property, else the primary address of the identity profile.

All values are text and times are milliseconds. Source: HubSpot's legacy page on workflow webhooks.
"""

from __future__ import annotations

from fairturn.sources.format import Format, inner, objects
from fairturn.sources.labels import campaign_of


def flatten(payload: object) -> object:
    if not isinstance(payload, dict):
        return payload
    properties = values(inner(payload, "properties"))
    associated = inner(payload, "associated-company")
    company = {"id": associated["company-id"]} if "company-id" in associated else {}
    submission = latest(objects(payload.get("form-submissions")))
    laid_open: dict[str, object] = {
        "properties": properties,
        "company": company | values(inner(associated, "properties")),
        "form": {name.replace("-", "_"): value for name, value in submission.items()},
        "utm": campaign_of(submission.get("page-url")),
    }
    if email := properties.get("email") or primary(payload.get("identity-profiles")):
        laid_open["email"] = email
    return payload | {name: value for name, value in laid_open.items() if value or name not in payload}


def values(properties: dict[str, object]) -> dict[str, object]:
    """The newer shape, plain values, passes as it is."""
    return {
        name: entry.get("value") if isinstance(entry, dict) else entry
        for name, entry in properties.items()
        if not isinstance(entry, dict) or "value" in entry
    }


def latest(submissions: list[dict[str, object]]) -> dict[str, object]:
    def moment(submission: dict[str, object]) -> float:
        at = submission.get("timestamp")
        return at if isinstance(at, int | float) else 0

    return max(submissions, key=moment, default={})


def primary(profiles: object) -> object:
    addresses = [
        identity
        for profile in objects(profiles)
        for identity in objects(profile.get("identities"))
        if identity.get("type") == "EMAIL" and identity.get("value")
    ]
    addresses.sort(key=lambda identity: identity.get("is-primary") is not True)  # stable: HubSpot's order otherwise
    return addresses[0]["value"] if addresses else None


FORMAT = Format(
    name="hubspot_workflow",
    about='contacts sent by HubSpot\'s workflow action "Send a webhook"',
    flatten=flatten,
    sample="examples/bodies/hubspot_workflow.json",
    # The action signs only with an app's secret (v2, a plain hash over the address too); its own header is simpler.
    verify={"type": "shared_secret", "where": "header", "name": "X-Fairturn-Secret"},
    map={
        "email": "email",
        "first_name": "properties.firstname",
        "last_name": "properties.lastname",
        "company": ("properties.company", "company.name"),
        "title": "properties.jobtitle",
        "phone": ("properties.phone", "properties.mobilephone"),
        "website": ("properties.website", "company.website"),
        "country": ("properties.country", "company.country"),
        "employees": ("properties.numemployees", "company.numberofemployees"),
        "score": "properties.hubspotscore",
        "lead_source": "properties.hs_analytics_source",
        "campaign": "utm.campaign",
        "crm_lead_id": "vid",  # a HubSpot destination writes this very contact, and need not ask for it
    },
    ids={"contact": "vid"},
    occurred_at="properties.lastmodifieddate",
)
