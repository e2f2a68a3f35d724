"""JSON objects as they are: your own code, Zapier, n8n, Make, Clay, and whatever else lets you choose the body."""

from __future__ import annotations

from fairturn.sources.format import Format


def flatten(payload: object) -> object:
    return payload


FORMAT = Format(
    name="plain",
    about="JSON objects as they are",
    flatten=flatten,
    sample="examples/bodies/plain.json",
    verify={"type": "shared_secret", "where": "header", "name": "X-Fairturn-Secret"},
    map={
        "email": "email",
        "first_name": "first_name",
        "last_name": "last_name",
        "company": "company",
        "phone": "phone",
        "country": "country",
        "employees": "employees",
    },
)
