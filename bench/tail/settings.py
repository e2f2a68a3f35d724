"""The settings that Fairturn runs on here: three sources, one pool, one rule, one CRM, the window to be measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.tail.vendors import QUEUE, REPS, SECRET, TOKEN, address

DESTINATION: Final = "crm"


def write(place: Path, vendor: str, *, url: str, org: str, port: int, window: Mapping[str, object]) -> Path:
    """fairturn.toml, and beside it the secrets that it names. window: as docs/howto/windows.md describes it."""
    for name, text in (("crm.id", "crmsim-client"), ("crm.secret", SECRET), ("crm.token", TOKEN)):
        path = place / name
        path.touch(mode=0o600)
        path.write_text(text)
    reps = "\n".join(f'[reps.{rep}]\nname = "{name}"\nemail = "{address(name)}"' for rep, name in _reps().items())
    members = ", ".join(f"{rep} = 1" for rep in _reps())
    lines = "\n".join(f"{name} = {_toml(value)}" for name, value in window.items())
    config = place / "fairturn.toml"
    text = TEXT.format(place=place, port=port, reps=reps, members=members)
    config.write_text(text + CRMS[vendor].format(place=place, url=url, org=org, window=lines, queue=QUEUE))
    return config


def _reps() -> dict[str, str]:
    return {name.split()[0].lower(): name for name in REPS}


def _toml(value: object) -> str:
    """Seconds are floats here."""
    return f'"{value:g}s"' if isinstance(value, float) else f'"{value}"' if isinstance(value, str) else str(value)


TEXT: Final = """\
data = "{place}/data"

[server]
host = "127.0.0.1"
port = {port}

[sources.website]
dedupe = "id"
verify = {{ type = "unsigned" }}
map.email = "email"
map.first_name = "first_name"
map.last_name = "last_name"
map.company = "company"
map.message = "message"

[sources.enrichment]
starts = false
dedupe = "id"
verify = {{ type = "unsigned" }}
map.email = "email"
map.title = "title"

[sources.scoring]
starts = false
dedupe = "id"
verify = {{ type = "unsigned" }}
map.email = "email"
map.score = "score"

{reps}

[pools.everyone]
members = {{ {members} }}
account_sticky = 0

[[rules]]
id = "everyone"
when = "true"
pool = "everyone"
"""
CRMS: Final = {
    "salesforce": """
[destinations.crm]
type = "salesforce"
url = "{url}"
org = "{org}"
client_id = "file:{place}/crm.id"
client_secret = "file:{place}/crm.secret"
allow_private = true
account_lookup = "Account__r.Fairturn_Key__c"
{window}

[destinations.crm.map]
FirstName = "first_name"
LastName = {{ field = "last_name", default = "Unknown" }}
Company = {{ field = "company", default = "Unknown" }}
Email = "email"
Title = "title"
Description = "message"
Score__c = {{ field = "score", mode = "always" }}
""",
    "hubspot": """
[destinations.crm]
type = "hubspot"
url = "{url}"
org = "{org}"
token = "file:{place}/crm.token"
allow_private = true
{window}

[destinations.crm.map]
email = "email"
firstname = "first_name"
lastname = {{ field = "last_name", default = "Unknown" }}
company = "company"
jobtitle = "title"
message = "message"
score = {{ field = "score", mode = "always" }}
""",
}
