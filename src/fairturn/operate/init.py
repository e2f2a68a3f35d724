"""The settings that a new user starts from: they work as they are, and say why each part is there."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fairturn.config import STANDARD_FIELDS
from fairturn.operate.headings import lead_fields, left_over, owner_heading, people
from fairturn.operate.init_crm import Crm, Person, competitors_part, destination_part, rep_lines, ruler, toml, toml_list
from fairturn.operate.sheets import Sheet, read_sheet

SECRET: Final = "FAIRTURN_WEBSITE_SECRET"  # noqa: S105 - the name of a variable
USUAL: Final = ("email", "first_name", "last_name", "company", "phone", "country", "employees", "message")
EXAMPLE: Final = [("ann", "Ann Lee", "ann@example.com"), ("bob", "Bob Ray", "bob@example.com")]
PROVIDERS: Final = {"gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "yahoo.com", "icloud.com"}
LEFT_OVER: Final = "Columns that are no lead field yet. To use one, declare it in a table [fields] and map it above:"
HEAD: Final = """\
# Fairturn's settings.
#
#   fairturn check     reads this file and names every fault with its line and what to write instead
#   fairturn serve     starts
#   fairturn why jane@acme.com     says who got a lead, and why
#
# The path of a lead, from top to bottom: a source receives it, the first rule that matches sends it to a pool, the
# pool's turn gives it a rep, a destination writes it into the CRM.

# Where the database lives. Without this line: ~/.local/share/fairturn, for root /var/lib/fairturn.
# data = "/srv/fairturn"

[organisation]
name = "My company"
timezone = "UTC"                    # such as "Europe/Berlin"
own_domains = {own_domains}                    # leads from these are colleagues: ["acme.com", "acme.de"]
competitors = []                    # leads from these learn nothing: ["rival.com"]
"""
SOURCE: Final = """
# --- Sources: who may post leads ------------------------------------------------------------------------------------
# Each is an address of its own, POST /in/website. The secret comes from the environment, never from this file:
#
#   export {secret}=$(openssl rand -hex 24)
#   curl -H "X-Fairturn-Secret: ${secret}" -d email=jane@acme.com -d last_name=Doe http://127.0.0.1:8080/in/website

[sources.website]
verify = {{ type = "shared_secret", name = "X-Fairturn-Secret", secrets = ["env:{secret}"] }}

# Lead field = where it lies in the payload (JMESPath). Of several, the first that holds something counts.
[sources.website.map]
{mapping}
"""
POOL: Final = """
# --- Pools: who takes turns -----------------------------------------------------------------------------------------
# The numbers are weights: whoever has 2 gets two leads for every one of a colleague with 1. Whoever has 0 gets none.
# After every single lead, nobody is a whole lead away from their share.

[pools.inbound]
name = "Inbound"
{members}
"""
RULES: Final = """
# --- Rules: the first that matches decides --------------------------------------------------------------------------
# Conditions name lead.<field>, known.<field> (is there a value?) and event.source:
#
#   lead.country == "DE"      lead.employees >= 500      lead.country in ["DE", "AT", "CH"]      !known.phone
#   lead.title.lowerAscii().contains("chief")            known.score && lead.score > 80
#
# A field without a value matches nothing, also not with "!=". A rule has one action: pool, owner, park or ignore.
# These first ones keep out what would waste a rep's turn.

[[rules]]
id = "own-people"
when = 'lead.domain_kind == "own"'
ignore = true

[[rules]]
id = "test-addresses"               # test@example.com and its kind; they are how a form is tried out
when = 'lead.domain_kind == "test"'
ignore = true

[[rules]]
id = "disposable-addresses"         # mailboxes that are gone in ten minutes
when = 'lead.email_kind == "disposable"'
ignore = true

[[rules]]
id = "competitors"
when = 'lead.domain_kind == "competitor"'
{competitors}

# [[rules]]
# id = "large-companies"            # a pool of its own: add [pools.enterprise] above
# when = 'lead.employees >= 500'
# pool = "enterprise"

# The last rule takes what is left. Without one, a lead could end nowhere, so `fairturn check` asks for it.
[[rules]]
id = "everyone-else"
when = "true"
pool = "inbound"
"""


def starter(
    destination: Crm = "console",
    headings: Sequence[str] | None = None,
    owners: Sequence[str] | None = None,
) -> str:
    """The text of a settings file that loads and checks clean once its secrets are set.

    `headings` are those of an export, whose columns are mapped; `owners` the people named in it, who become reps.
    """
    reps = people(owners or ()) or EXAMPLE
    fields = lead_fields(headings or ())
    parts = [
        HEAD.replace("{own_domains}", toml_list(own_domains(reps) if owners else [])),
        SOURCE.format(secret=SECRET, mapping=mapping(fields)),
        unmapped(left_over(headings, fields)) if headings else "",
        reps_part(reps, destination, from_export=bool(owners)),
        POOL.replace("{members}", members(reps, example=reps is EXAMPLE)),
        destination_part(destination),
        RULES.replace("{competitors}", competitors_part(destination)),
    ]
    return "".join(parts)


def starter_from(path: Path, destination: Crm = "console") -> str:
    """The same, made from an exported table: its headings, and its owner column if it has one. Raises ConfigError."""
    sheet = read_sheet(path)
    return starter(destination, sheet.headings, owners_in(sheet))


def owners_in(sheet: Sheet) -> list[str]:
    column = owner_heading(sheet.headings)
    return [row[column] for row in sheet.rows if column in row] if column else []


def own_domains(reps: Sequence[Person]) -> list[str]:
    """The domain that most reps share; a single address proves nothing."""
    domains = [address.rpartition("@")[2].lower() for _, _, address in reps if address]
    best = max(domains, key=domains.count, default=None)
    return [best] if best and domains.count(best) > 1 and best not in PROVIDERS else []


def mapping(fields: dict[str, str]) -> str:
    """Both the plain names of a form and the export's headings, so that both can be tried."""
    lines = []
    for field in STANDARD_FIELDS:
        heading = fields.get(field)
        if heading is not None and heading != field:
            lines.append(f"{field} = [{toml(field)}, {toml(jmespath_name(heading))}]")
        elif heading is not None or field in USUAL:
            lines.append(f"{field} = {toml(field)}")
    return "\n".join(lines)


def unmapped(headings: Sequence[str]) -> str:
    if not headings:
        return ""
    lines = ["", f"# {LEFT_OVER}", "#"]
    for heading in headings[:40]:
        name = re.sub(r"[^a-z0-9]+", "_", heading.lower()).strip("_")[:40]
        name = name if re.match(r"[a-z]", name) else f"field_{name}".rstrip("_")
        declared = f'{name} = "text"'
        lines.append(f"#   {declared:<32} {name} = {toml(jmespath_name(heading))}")
    return "\n".join(lines) + "\n"


def reps_part(reps: Sequence[Person], destination: Crm, *, from_export: bool) -> str:
    origin = "From the export's owner column." if from_export else "An example: put your own people here."
    return "\n".join(["", ruler("Reps: the people who own leads"), f"# {origin}", *rep_lines(reps, destination)]) + "\n"


def members(reps: Sequence[Person], *, example: bool) -> str:
    weights = [f"{rep} = {2 if example and rep == 'ann' else 1}" for rep, _, _ in reps]
    line = f"members = {{ {', '.join(weights)} }}"
    # TOML keeps { } on one line; many reps read better as a table of their own.
    return line if len(line) <= 100 else "\n[pools.inbound.members]\n" + "\n".join(weights)


def jmespath_name(heading: str) -> str:
    """A key with blanks, dots or dashes is quoted in JMESPath."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", heading, re.ASCII)
    return heading if plain else json.dumps(heading, ensure_ascii=False)
