"""The settings that the journeys run on: ten reps, two pools, four sources, one org."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.journeys.crm import REPS, Crm

TEAM = dict(zip(REPS[:5], (3, 1, 1, 2, 1), strict=True))


def render(crm: Crm, *, data: Path | None, port: int, server: str = "", crm_more: dict[str, Any] | None = None) -> str:
    """data None: the database that JOURNEY_DATABASE names. `server`, `crm_more`: further settings of these."""
    place = f'data = "{data}"' if data else 'database_url = "env:JOURNEY_DATABASE"'
    more = {"linger": "300ms", "max_wait": "2s", "request_timeout": "2s", "max_attempts": 3} | (crm_more or {})
    return TEXT.format(
        place=place,
        port=port,
        server=server,
        url=crm.sim.url,
        queue=crm.queue,
        reps="\n".join(f'[reps.{rep}]\nname = "{rep.upper()}"\nids = {{ crm = "{crm.users[rep]}" }}' for rep in REPS),
        team=", ".join(f"{rep} = {weight}" for rep, weight in TEAM.items()),
        ten=", ".join(f"{rep} = 1" for rep in REPS),
        more="\n".join(
            f"{key} = {value}" if isinstance(value, int) else f'{key} = "{value}"' for key, value in more.items()
        ),
    )


TEXT = """
{place}

[organisation]
own_domains = ["seller.com"]

[server]
host = "127.0.0.1"
port = {port}
takeover = "2s"
{server}

[routing]
workers = 2

[sources.website]
verify = {{ type = "unsigned" }}
dedupe = "id"
map = {{ email = "email", last_name = "last", company = "company" }}

[sources.enrichment]
verify = {{ type = "unsigned" }}
dedupe = "id"
starts = false
map = {{ email = "email", title = "title", score = "score" }}

[sources.chat]
verify = {{ type = "unsigned" }}
dedupe = "id"
lane = "sync"
deadline = "8s"
map = {{ email = "email", last_name = "last", company = "company" }}

{reps}

[pools.team]
members = {{ {team} }}
hold_owner = {{ crm = "{queue}" }}

[pools.ten]
members = {{ {ten} }}
hold_owner = {{ crm = "{queue}" }}
account_sticky = 0

[[rules]]
id = "junk"
when = 'lead.domain_kind == "own" || lead.domain_kind == "test" || lead.email_kind == "disposable"'
ignore = true

[[rules]]
id = "chat"
when = 'event.source == "chat" || lead.company == "Ten"'
pool = "ten"

[[rules]]
id = "everyone"
when = "true"
pool = "team"

[destinations.crm]
type = "salesforce"
url = "{url}"
allow_private = true
client_id = "env:JOURNEY_CRM_ID"
client_secret = "env:JOURNEY_CRM_SECRET"
account_lookup = "Account__r.Fairturn_Key__c"
{more}

[destinations.crm.map]
LastName = {{ field = "last_name", default = "Unknown" }}
Company = {{ field = "company", default = "Unknown" }}
Email = "email"
Title = "title"
Score__c = "score"
"""
