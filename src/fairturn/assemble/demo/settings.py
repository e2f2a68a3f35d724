"""The settings that the demo runs on: the file that a newcomer reads next, so it explains itself."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fairturn.assemble.demo.crm import Crm
from fairturn.assemble.demo.hubspot import HUBSPOT
from fairturn.assemble.demo.salesforce import SALESFORCE
from fairturn.assemble.demo.scenario import OWN, RIVAL
from fairturn.assemble.demo.staff import POOLS, REPS

CRMS: Final = {crm.name: crm for crm in (SALESFORCE, HUBSPOT)}
SOURCES: Final = ("website", "enrichment", "scoring")
STICKY: Final = {
    "enterprise": 'account_sticky = "30d"                # people of one company go to one rep, who pays a turn for it'
}
ROTATES: Final = "account_sticky = 0                    # every lead takes a turn, whoever has its company"


def render(folder: Path, crm: Crm, *, url: str, org: str, port: int) -> str:
    """The text of fairturn.toml. Secrets lie beside it, in files of their own: website.secret and so on."""
    reps = "\n".join(f'[reps.{rep.id}]\nname = "{rep.name}"\nemail = "{rep.email}"\n' for rep in REPS)
    pools = "\n".join(_pool(pool, crm) for pool in POOLS)
    text = TEXT.format(folder=folder, port=port, reps=reps, pools=pools, own=OWN, rival=RIVAL, crm=crm.label)
    return f"{text}\n{crm.settings(folder, url, org)}"


def _pool(pool: str, crm: Crm) -> str:
    members = ", ".join(f"{rep.id} = {rep.weight}" for rep in REPS if rep.pool == pool)
    hold = "" if crm.queue is None else f'hold_owner = {{ {crm.name} = "{crm.queue}" }}\n'
    return f'[pools.{pool}]\nname = "{POOLS[pool]}"\nmembers = {{ {members} }}\n{hold}{STICKY.get(pool, ROTATES)}\n'


TEXT: Final = """\
# The settings of `fairturn demo`. A real file looks just like this one, with your sources, people and CRM.
# `fairturn check --config` this file tells what is wrong with a change; `fairturn init` writes one for you.

data = "{folder}/data"                # Fairturn's own PostgreSQL; database_url would name one of yours

[organisation]
name = "Acme Software"
own_domains = ["{own}"]       # colleagues who try out the form
competitors = ["{rival}"]

[server]
host = "127.0.0.1"
port = {port}

# --- Sources: three systems tell something about a lead -----------------------------------------------------
# Each has an address of its own, POST /in/website and so on, and proves who it is. Secrets lie in files or in the
# environment, never here.

[sources.website]                     # the form on the site: it starts leads
format = "form"
dedupe = "submission_id"              # a submission that is delivered twice is one event
map.email = "fields.email"
map.first_name = "fields.first_name"
map.last_name = "fields.last_name"
map.company = "fields.company"
map.employees = "fields.company_size"
map.phone = "fields.phone"
map.country = "fields.country"
map.message = "fields.message"
map.campaign = "utm.campaign"
constants = {{ lead_source = "Web" }}

[sources.website.verify]
type = "hmac"                         # the sender signs each body with the secret
header = "X-Signature"
format = "prefix"
prefix = "sha256="
secrets = ["file:{folder}/website.secret"]

[sources.enrichment]                  # adds to a lead, and starts none: what comes before the form waits for it
starts = false
verify = {{ type = "shared_secret", name = "X-Fairturn-Secret", secrets = ["file:{folder}/enrichment.secret"] }}
dedupe = "id"
map.email = "person.email"
map.title = "person.job_title"
map.employees = "company.employees"

[sources.scoring]
starts = false
verify = {{ type = "shared_secret", where = "bearer", secrets = ["file:{folder}/scoring.secret"] }}
dedupe = "event"
map.email = "email"
map.score = "score"

# --- Reps, and the pools in which they take turns -----------------------------------------------------------
# {crm} knows a rep by the e-mail. The number is a weight: whoever has 2 gets two leads for every one of a
# colleague with 1. An owner who keeps a lead pays for it with a later turn. While nobody can take a lead, it is held,
# and the CRM shows it under hold_owner, or without an owner.

{reps}
{pools}
# --- Rules: the first that matches decides ------------------------------------------------------------------

[[rules]]
id = "junk"                           # colleagues, competitors, test@example.com, ten-minute mailboxes: no turn is used
when = 'lead.domain_kind != "other" || lead.email_kind == "disposable"'
ignore = true

[[rules]]
id = "large-companies"
when = 'lead.employees >= 500'
pool = "enterprise"

[[rules]]
id = "europe"
when = 'lead.country in ["DE", "AT", "CH", "FR", "ES", "GB"]'
pool = "emea"

[[rules]]
id = "everyone-else"
when = "true"
pool = "americas"
"""
