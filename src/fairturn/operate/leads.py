"""Leads: found by whatever a person has in hand, listed, shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairturn.config import Organisation, Routing, Settings
from fairturn.decide.addresses import email_facts
from fairturn.decide.matching import digest, email_key, record_key
from fairturn.decide.merging import EPOCH, MICROSECOND, event_of, plain
from fairturn.decide.record_ids import is_record_id, long_form
from fairturn.desk import LeadFilter, Reads
from fairturn.errors import NotAllowed, NotFound
from fairturn.model import Fields, Lead
from fairturn.operate.records import kept
from fairturn.views import ChangeLine, LeadLine, Story

DIGITS = 18  # of a bigint


async def locate(reads: Reads, text: str, settings: Settings | None = None) -> int:
    """The lead that an e-mail address, a number, a CRM record's id, our external id or a source's own id means.

    Raises NotFound; NotAllowed where it means several.
    """
    text = text.strip()
    bare = text.removeprefix("#")
    if bare.isascii() and bare.isdigit() and len(bare) <= DIGITS and (story := await reads.story(int(bare))):
        return story.line.lead.id
    digests, records = _names(text, settings)
    found = await reads.find(text, digests, records)
    if not found:
        raise NotFound("lead", text)
    if len(found) > 1:
        numbers = ", ".join(map(str, found[:10]))
        raise NotAllowed(f"{text[:80]!r} means {len(found)} leads: {numbers}. Name one by its number.")
    return found[0]


def _names(text: str, settings: Settings | None) -> tuple[list[bytes], list[str]]:
    organisation = settings.organisation if settings else Organisation()
    routing = settings.routing if settings else Routing()
    digests = []
    if "@" in text and (key := email_key(email_facts(text, organisation, routing))):
        digests.append(key.digest)
    if not is_record_id(text):
        return digests, [text]
    digests.append(digest("crm:lead", record_key(text)))
    return digests, list(dict.fromkeys((text, long_form(text), text[:15])))


def name(fields: Fields) -> str:
    """What a person calls the lead: its name, else its address, else its phone."""
    values = plain(fields)
    full = values.get("full_name") or " ".join(
        str(values[part]) for part in ("first_name", "last_name") if values.get(part)
    )
    for found in (full, values.get("email"), values.get("phone"), values.get("company")):
        if found:
            return str(found)
    return "nameless"


def standing(lead: Lead) -> str:
    """A clause: whose it is, or why nobody's."""
    match lead.status:
        case "assigned":
            return f"it is {lead.rep}'s"
        case "held":
            return f"it is held in pool {lead.pool}: {lead.reason}"
        case "parked":
            return f"it is parked under a queue: {lead.reason}"
        case "owned":
            return f"its owner in the CRM keeps it: {lead.reason}"
        case "waiting":
            return f"it {lead.reason or 'waits'}"
    return f"it is ignored: {lead.reason}"


async def leads(reads: Reads, wanted: LeadFilter) -> Sequence[LeadLine]:
    return await reads.leads(wanted)


async def show(reads: Reads, lead: int) -> Story:
    """Raises NotFound."""
    story = await reads.story(lead)
    if story is None:
        raise NotFound("lead", str(lead))
    return story


def line_json(line: LeadLine) -> dict[str, object]:
    lead, values = line.lead, plain(line.lead.fields)
    return {
        "lead": lead.id,
        "created_at": lead.created_at,
        "status": lead.status,
        "name": name(lead.fields),
        "email": values.get("email"),
        "company": values.get("company"),
        "rep": lead.rep,
        "pool": lead.pool,
        "rule": lead.rule,
        "reason": lead.reason,
        "source": lead.source,
        "held_at": line.held_at,
        "assigned_at": line.assigned_at,
    }


def story_json(story: Story) -> dict[str, object]:
    return line_json(story.line) | {
        "fields": fields_json(story.line.lead.fields),
        "keys": [{"kind": key.kind, "value": key.value} for key in story.keys],
        "merged": list(story.merged),
        "events": [
            {"event": event.id, "source": event.source, "received_at": event.received_at, "marks": list(event.marks)}
            for event in story.events
        ],
        "destinations": [
            change_json(change) | {"written": one.written, "shadow": one.shadow}
            for change, one in zip(story.changes, kept(story), strict=True)
        ],
    }


def fields_json(fields: Fields) -> Mapping[str, object]:
    """Each value with when it was said, and by which event."""
    return {
        field: {
            "value": state.value,
            "at": EPOCH + state.at_us * MICROSECOND,
            "event": event_of(state).hex(),
        }
        for field, state in sorted(fields.items())
    }


def change_json(change: ChangeLine) -> dict[str, object]:
    return {
        "destination": change.destination,
        "state": change_state(change),
        "record": change.record_id,
        "key": change.key,
        "waits_since": change.since,
        "not_before": change.due_at,
        "attempts": change.attempts,
        "cause": change.cause,
        "code": change.code,
        "message": change.message,
        "failed_at": change.failed_at,
    }


def change_state(change: ChangeLine) -> str:
    """The stored state, in the words of people: a change that ended unconfirmed was dropped, or ran in shadow."""
    if change.state == "done":
        if (change.cause or "").startswith("dropped"):
            return "dropped"
        return "written" if change.confirmed == change.version else "recorded in shadow"
    return {"pending": "waiting", "in_flight": "being written", "failed": "failed"}[change.state]
