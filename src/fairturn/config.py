"""The shape of the settings. What they mean together is checked by operate/check.py, where lines are known.

Durations are written "2s", "15m", "24h", "30d" and held in seconds. Secrets are never here, only the names of
environment variables or files that hold them. Relative paths (`data`, "file:NAME") begin at the settings' own folder.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*", re.ASCII)
LONGEST = 3650 * 86400.0
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_duration(value: object) -> object:
    """Seconds of "2s", "1.5m", "24h", "30d"; a bare 0 is allowed, other bare numbers are not (seconds? minutes?)."""
    if isinstance(value, str) and (match := DURATION.fullmatch(value)):
        seconds = float(match[1]) * UNITS[match[2]]
        if seconds > LONGEST:  # beyond it, a date and time would overflow
            msg = 'a duration is at most ten years: "3650d"'
            raise ValueError(msg)
        return seconds
    if value == 0 and not isinstance(value, bool):
        return 0.0
    msg = 'a duration is written with its unit: "2s", "15m", "24h" or "30d"'
    raise ValueError(msg)


Duration = Annotated[float, BeforeValidator(parse_duration)]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
Weight = Annotated[int, Field(strict=True, ge=0, le=10_000)]
FieldType = Literal["text", "integer", "number", "boolean", "time"]
Priority = Literal["high", "normal", "bulk"]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class Hmac(Frozen):
    """A keyed digest over the raw bytes. `signed` is a template of {body} {timestamp} {id} {method} {url} and text."""

    type: Literal["hmac"] = "hmac"
    header: str  # the header that carries the signature
    secrets: tuple[str, ...] = Field(min_length=1)  # "env:NAME" or "file:path"; several while rotating
    algorithm: Literal["sha1", "sha256", "sha512"] = "sha256"
    encoding: Literal["hex", "base64"] = "hex"
    # bare: value; prefix: sha256=value; pairs: t=..,v1=value; list: v1,value v1,value
    format: Literal["bare", "prefix", "pairs", "list"] = "bare"
    prefix: str = ""  # the prefix ("sha256="), the pair's name ("v1") or the list's mark ("v1")
    signed: str = "{body}"
    key: Literal["text", "base64"] = "text"  # how the secret's text becomes key bytes
    key_prefix: str = ""  # stripped from the secret first, e.g. "whsec_"
    timestamp_header: str | None = None
    timestamp_pair: str | None = None  # name within a "pairs" header, e.g. "t"
    timestamp_unit: Literal["s", "ms"] = "s"
    tolerance: Duration = 300.0
    id_header: str | None = None


class SharedSecret(Frozen):
    """A secret that the sender repeats in every request."""

    type: Literal["shared_secret"] = "shared_secret"
    where: Literal["header", "bearer", "basic", "query", "body"] = "header"
    name: str = "X-Fairturn-Secret"  # header or query parameter, user name for basic, JMESPath for body
    secrets: tuple[str, ...] = Field(min_length=1)


class Unsigned(Frozen):
    """Anybody may post. Has to be asked for by name."""

    type: Literal["unsigned"] = "unsigned"


Verify = Annotated[Hmac | SharedSecret | Unsigned, Field(discriminator="type")]


class Source(Frozen):
    """A webhook endpoint, POST /in/<id>."""

    verify: Verify
    format: str = "plain"  # a vendor's flattener from sources/: plain, typeform, hubspot_workflow, form ...
    map: dict[Id, str | tuple[str, ...]] = {}  # lead field -> JMESPath, or several, the first value found wins
    constants: dict[Id, str | int | float | bool] = {}  # lead field -> value where the mapping found none
    ids: dict[Id, str] = {}  # the source's own ids: name -> JMESPath; each becomes a key of the lead
    dedupe: str | None = None  # JMESPath of the delivery's own id; without it the item's bytes decide
    occurred_at: str | None = None  # JMESPath of the event's own time; without it the time of arrival
    timezone: str = "UTC"  # for times without a zone
    phone_region: str | None = None  # ISO country for numbers without +
    lane: Literal["batch", "sync"] = "batch"  # sync: the answer waits for the owner and names it
    deadline: Duration = 3.0  # sync: answer 202 after this
    starts: bool = True  # may make a lead of an unknown person
    rank: int = 0  # wins ties of event time; higher is more trusted
    priority: Priority = "normal"  # whose changes leave first when much waits
    clears: tuple[Id, ...] = ()  # fields that null or "" of this source erases
    wait_for: tuple[Id, ...] = ()  # a new lead waits until these fields are there
    at_most: Duration = 5.0  # so long, and then it is routed without them
    mode: Literal["live", "shadow"] = "live"  # shadow: routed and recorded, nothing is sent


class Rep(Frozen):
    name: str
    email: str | None = None
    ids: dict[Id, str] = {}  # destination -> the CRM's user id
    attributes: dict[Id, tuple[str, ...]] = {}  # e.g. language = ["de", "en"]; rules filter on them


class Pool(Frozen):
    name: str | None = None
    members: dict[Id, Weight]  # rep -> weight: 2 gets two leads for every one of 1, 0 gets none
    fallback: Id | None = None  # pool to try when nobody here can take the lead
    hold_owner: dict[Id, str] = {}  # destination -> queue or user that owns held leads meanwhile
    filtered: Literal["whole", "separate"] = "whole"  # leads under a filter count against all members, or apart
    account_sticky: Duration = 30 * 86400.0  # people of one company go to its rep this long after the last
    counts: bool = True  # an owner who keeps a lead pays a turn later
    max_debt: int = Field(default=3, ge=0, le=1000)  # unpaid turns of one rep; beyond it they are forgiven


class Rule(Frozen):
    """Ordered; the first whose condition is true decides. Exactly one of pool, owner, park, ignore."""

    id: Id
    when: Annotated[str, StringConstraints(min_length=1, max_length=4000)]  # a condition in CEL
    pool: Id | None = None  # whose next rep gets the lead
    owner: Id | None = None  # this rep gets it, without a turn
    park: dict[Id, str] | str | None = None  # queue: per destination, or one for all
    ignore: bool = False  # kept here, written nowhere
    require: dict[Id, str] = {}  # rep attribute -> value, or "{lead.language}"
    exclude: tuple[Id, ...] = ()  # reps who never get these leads
    existing: Literal["keep", "assign"] = "keep"  # keep: an active owner in the CRM keeps the lead; assign: no
    create: Literal["missing", "always"] = "missing"  # always: a Lead also for a person who is a Contact there


class MapTo(Frozen):
    """One field of the CRM's record."""

    field: str | None = None  # lead field
    value: str | int | float | bool | None = None  # constant
    # what the assignment was: its id, rule, pool, reason; when the lead came, when it was assigned
    assignment: Literal["id", "rule", "pool", "reason", "received_at", "assigned_at"] | None = None
    record_type: str | None = None  # a record type, by its name
    # on a record that is there: always; if_empty (default): where it has no value, or ours; create_only: never;
    # forward: along `order`, never backwards; never_unset: true stays true (opt-outs)
    mode: Literal["always", "if_empty", "create_only", "forward", "never_unset"] | None = None
    order: tuple[str, ...] = ()  # of forward: ["New", "Working", "Qualified"]
    default: str | None = None  # where the lead has no value
    max_length: int | None = Field(default=None, ge=1)


class Destination(Frozen):
    type: Literal["console", "salesforce", "hubspot"]
    url: str | None = None  # Salesforce: My Domain, https://acme.my.salesforce.com; HubSpot: https://api.hubapi.com
    org: str | None = None  # pin: the org id, or HubSpot's portal id, that must answer
    sandbox: bool | None = None  # pin: whether it has to be a sandbox; None = either
    token: str | None = None  # HubSpot's private app: "env:NAME" or "file:path"
    refresh_token: str | None = None  # HubSpot's OAuth app, with client_id and client_secret: the same
    client_id: str | None = None  # "env:NAME" or "file:path"; a relative path begins at this file
    client_secret: str | None = None  # the same
    api_version: str = "62.0"
    object: str = "Lead"  # what is written: Lead, Contact or Account; HubSpot: contacts
    external_id: str = "Fairturn_Id__c"  # the field by which a retry finds its record: unique, an external id
    # "Account__r.Fairturn_Key__c" for a lookup of your own, "Account.Fairturn_Key__c" for a Contact; locks the account
    account_lookup: str | None = None
    map: dict[str, str | MapTo] = {}  # CRM field -> lead field, or MapTo
    contact_map: dict[str, str | MapTo] = {}  # Salesforce: the same for people who are Contacts; {} = from `map`
    existing: Literal["ask", "ignore"] = "ask"  # before a lead's first turn: is the person there already?
    on_unknown: Literal["wait", "create"] = "wait"  # nobody answers: wait, at most max_wait, or go on at once
    lookup_linger: Duration = 2.0  # so long between two look-ups
    lookup_timeout: Duration = 10.0  # of one look-up
    parked_owners: tuple[str, ...] = ()  # users whose records are free to be assigned, by name or e-mail
    recycle_statuses: tuple[str, ...] = ()  # records with these statuses are free to be assigned
    status_field: str | None = None  # that holds the status; None = Status, of HubSpot hs_lead_status
    mode: Literal["live", "shadow"] = "live"  # shadow: recorded, nothing is sent
    window: Literal["adaptive", "fixed", "none"] = "adaptive"  # when a change leaves
    linger: Duration = 2.0  # adaptive: so long after its first event, if nothing is out
    max_wait: Duration = 15.0  # adaptive: at the latest, while requests are out
    every: Duration = 15.0  # fixed
    max_slots: int = Field(default=4, ge=1, le=16)  # requests out at once
    max_records: int = Field(default=200, ge=1, le=200)  # in one request
    request_timeout: Duration = 60.0
    retry_for: Duration = 3 * 86400.0  # a transient refusal is retried this long, then failed
    max_attempts: int = Field(default=12, ge=1)  # for refusals that are not an outage
    max_failed: int = Field(default=500, ge=1)  # failed writes in an hour that stop the destination
    daily_calls: int | None = Field(default=None, ge=1)  # budget; None = what the CRM says
    allow_private: bool = False  # may point to a loopback or private address (simulator, proxy)

    @model_validator(mode="before")
    @classmethod
    def _by_type(cls, data: Any) -> Any:
        """What is called differently in HubSpot has other defaults there."""
        if isinstance(data, dict) and data.get("type") == "hubspot":
            hubspot = {
                "object": "contacts",
                "external_id": "fairturn_id",
                "url": "https://api.hubapi.com",
                "max_records": 100,
            }
            return {**hubspot, **data}
        return data


class Server(Frozen):
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    public_url: str | None = None  # as senders know it, for those who sign the address
    max_body: int = Field(default=1_048_576, ge=1024, le=64 * 1_048_576)  # bytes
    max_depth: int = Field(default=64, ge=4, le=512)  # of lists and objects in a body
    max_items: int = Field(default=5000, ge=1)  # events in one array
    body_timeout: Duration = 10.0  # to send a body
    max_unrouted: int = Field(default=1_000_000, ge=1)  # beyond it intake answers 503
    min_disk: int = Field(default=256, ge=0)  # MiB free below which intake answers 503
    takeover: Annotated[Duration, Field(ge=1.0)] = 10.0  # after this, another worker goes on where one died


class Retention(Frozen):
    raw: Duration = 30 * 86400.0  # what came, as it came
    events: Duration = 400 * 86400.0  # and as long as this a repeated delivery is recognised


class Routing(Frozen):
    signal_wait: Duration = 86400.0  # events of a source that starts no leads wait so long for theirs
    free_domains: tuple[str, ...] = ()  # added to the built-in list of free mail
    company_domains: tuple[str, ...] = ()  # taken off it
    same_account: tuple[tuple[str, ...], ...] = ()  # domains that are one company
    future_tolerance: Duration = 300.0  # an event's own time beyond this counts as its arrival
    workers: int = Field(default=1, ge=1, le=16)  # route stations in a worker process


class Organisation(Frozen):
    name: str = "My company"
    timezone: str = "UTC"
    own_domains: tuple[str, ...] = ()  # lead.domain_kind is "own"
    competitors: tuple[str, ...] = ()  # lead.domain_kind is "competitor"


class Settings(Frozen):
    organisation: Organisation = Organisation()
    system_of_record: Id | None = None  # of several destinations: whose owners count, and who is told the owner
    database_url: str | None = None  # "env:NAME", "file:path" or a URL without a password; None = embedded
    data: str | None = None  # embedded PostgreSQL's directory; a relative one begins at this file
    journal: Literal["postgresql", "valkey"] = "postgresql"  # where webhooks are kept before the answer
    valkey_url: str | None = None  # "env:NAME", "file:path" or a URL without a password: redis://, with TLS rediss://
    valkey_stream: Id = "fairturn"  # its key there: two installations on one Valkey need two
    server: Server = Server()
    retention: Retention = Retention()
    routing: Routing = Routing()
    fields: dict[Id, FieldType] = {}  # lead fields of your own beside the standard ones
    sources: dict[Id, Source] = {}
    reps: dict[Id, Rep] = {}
    pools: dict[Id, Pool] = {}
    rules: tuple[Rule, ...] = ()
    destinations: dict[Id, Destination] = {}


# Every lead has these; `fields` adds more. The types are those of rule conditions.
STANDARD_FIELDS: dict[str, FieldType] = {
    "email": "text",
    "first_name": "text",
    "last_name": "text",
    "full_name": "text",
    "company": "text",
    "title": "text",
    "phone": "text",
    "website": "text",
    "street": "text",
    "city": "text",
    "state": "text",
    "postal_code": "text",
    "country": "text",
    "language": "text",
    "employees": "integer",
    "score": "number",
    "lead_source": "text",
    "campaign": "text",
    "message": "text",
    "crm_account_id": "text",
    "crm_lead_id": "text",
}
# Worked out by Fairturn; rules may read them, mappings may not set them.
DERIVED_FIELDS: dict[str, FieldType] = {
    "email_domain": "text",  # registrable domain of the address
    "email_kind": "text",  # work | free | disposable | relay | invalid | none
    "domain_kind": "text",  # own | competitor | test | other
}
