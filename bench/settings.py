"""The settings of a run: a signed source, nine mapped fields, three rules, two pools of ten reps, a ledger."""

from __future__ import annotations

from pathlib import Path

from bench.leads import SECRET, SOURCE

REPS = {"large": ("ada", "ben", "cleo"), "everyone": ("dana", "emil", "fay", "gus", "hana", "ivan", "june")}
DESTINATION = "crm"

TEXT = """\
data = "{data}"

[organisation]
own_domains = ["fairturn-bench.com"]

[sources.{source}]
dedupe = "submission"
map.email = "email"
map.first_name = "first_name"
map.last_name = "last_name"
map.company = "company"
map.employees = "employees"
map.country = "country"
map.phone = "phone"
map.campaign = "utm.campaign"
constants = {{ lead_source = "Web" }}
verify = {{ type = "hmac", header = "X-Signature", format = "prefix", prefix = "sha256=", secrets = ["file:{secret}"] }}

{reps}
[pools.large]
members = {{ ada = 2, ben = 1, cleo = 1 }}

[pools.everyone]
members = {{ dana = 1, emil = 1, fay = 1, gus = 1, hana = 1, ivan = 1, june = 1 }}
account_sticky = 0

[[rules]]
id = "junk"
when = 'lead.domain_kind != "other" || lead.email_kind == "disposable"'
ignore = true

[[rules]]
id = "large-companies"
when = 'lead.employees >= 500'
pool = "large"

[[rules]]
id = "everyone-else"
when = "true"
pool = "everyone"

[destinations.{destination}]
type = "console"
"""


def write(config: Path, data: Path) -> None:
    secret = config.parent / "source.secret"
    secret.touch(0o600)
    secret.write_text(SECRET)
    reps = "".join(f'[reps.{rep}]\nname = "{rep.title()}"\n' for pool in REPS.values() for rep in pool)
    text = TEXT.format(data=data, source=SOURCE, secret=secret, reps=reps, destination=DESTINATION)
    config.write_text(text, encoding="utf-8")
