"""The demo into both simulated CRMs: section of results/crm.json."""

from __future__ import annotations

from textwrap import fill

from bench import crm
from bench.page.rows import Found, percent
from bench.plots import Plot


def plots(_: Found) -> list[Plot]:
    return []


def blocks(found: Found) -> dict[str, str]:
    return {"demo": sentence(found)}


def sentence(found: Found) -> str:
    """What the README says of it."""
    one, other = found["salesforce"], found["hubspot"]
    lost = sum(run[what] for run in (one, other) for what in ("lost", "duplicated"))
    taken = sum(run["there"]["owners_taken"] for run in (one, other))
    waits = " and ".join(f"{run['seconds_to_crm']['p95']:.1f} s" for run in (one, other))
    return fill(
        f"`fairturn demo`: {one['leads']} leads with three webhooks each within {found['conditions']['seconds']:g} s, "
        f"{share(found)} of the people in the CRM already: {one['api_calls']['salesforce']:,} API calls into a "
        f"simulated Salesforce and {other['api_calls']['hubspot']:,} into a simulated HubSpot instead of "
        f"{one['calls_one_per_event']:,}, 95 % there within {waits}, {lost or 'nobody'} lost or twice, "
        f"{f'{taken} owners' if taken else 'no owner'} taken.",
        width=120,
    )


def share(found: Found) -> str:
    return percent(found["salesforce"]["there"]["people"] / found["conditions"]["leads"])


def section(found: Found) -> str:
    conditions = found["conditions"]
    burst = f"--leads {conditions['leads']} --seconds {conditions['seconds']:g}"
    return TEXT.format(burst=burst, share=share(found), crm=crm.table(dict(found)))


TEXT = """\
## The demo, whose CRM is not empty

    python -m bench crm {burst} --keep

`fairturn demo {burst}`, into a simulated Salesforce and then into a simulated HubSpot: three webhooks
for each lead (a form, enrichment, a score), companies by Zipf's law, half a second for each request and 10 ms for each
record in it; in Salesforce each part of a Composite costs as much as a request. {share} of the people are in the CRM
already: with a rep, with somebody else, in a queue or with nobody, with somebody who has left, converted, or customers.
What was lost, made twice or taken is read from the simulator's evidence.

{crm}
"""
