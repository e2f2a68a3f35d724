"""What a sender is told: which events were taken, and on the sync lane who owns the lead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairturn.config import Rep
from fairturn.decide.drafts import SET_ASIDE
from fairturn.intake.wire import Reply, reply
from fairturn.model import Arrival, Assigned, Item


def taken(arrival: Arrival) -> dict[str, object]:
    good = [item.id.hex() for item in arrival.items if item.problem is None]
    content: dict[str, object] = {"accepted": len(good), "events": good}
    bad = [{"item": item.index, "problem": item.problem} for item in arrival.items if item.problem is not None]
    if bad:
        content["quarantined"] = bad
    return content


def accepted(arrival: Arrival) -> Reply:
    items = arrival.items
    if len(items) == 1:
        return Reply(202, b'{"accepted":1,"events":["%b"]}' % items[0].id.hex().encode())
    return reply(202, taken(arrival))


def owner(found: Assigned, reps: Mapping[str, Rep]) -> dict[str, object]:
    """`rep` is null for a lead that is held, parked or ignored; `why` says so. One that is `owned` has an active owner
    in the CRM who is none of our reps: `owner` says who.
    """
    rep = None
    if found.rep is not None:
        known = reps.get(found.rep)
        rep = {"id": found.rep, "name": known.name if known else found.rep, "email": known.email if known else None}
    said: dict[str, object] = {
        "lead": found.lead,
        "rep": rep,
        "pool": found.pool,
        "status": found.status,
        "why": found.why,
    }
    if found.owner is not None:
        said["owner"] = {"id": found.owner.id, "name": found.owner.name, "email": found.owner.email}
    return said


def decided(found: Assigned | None) -> bool:
    return found is not None and found.status != "waiting"


def problem(found: Assigned) -> str:
    """Of a quarantined event. A fault of ours is for our log: a sender can do nothing about it."""
    return "It could not be routed. It is kept, for a person to see." if SET_ASIDE in found.why else found.why


def answered(arrival: Arrival, results: Mapping[bytes, Assigned], reps: Mapping[str, Rep]) -> Reply:
    """200 once every event's lead is decided; until then 202 with the address that will tell. 202 for one that was set
    aside, as where that is seen at the door.
    """
    if aside := {event: problem(found) for event, found in results.items() if found.status == "quarantined"}:
        told = (replace(item, problem=item.problem or aside.get(item.id)) for item in arrival.items)
        arrival = replace(arrival, items=tuple(told))
    items = [item for item in arrival.items if item.problem is None]
    if not items:
        return reply(202, taken(arrival))
    if not all(decided(results.get(item.id)) for item in items):
        return pending(arrival, items)
    owners = {item.id.hex(): owner(results[item.id], reps) for item in items}
    if len(arrival.items) == 1:
        return reply(200, owners[items[0].id.hex()])
    return reply(200, taken(arrival) | {"owners": owners})


def pending(arrival: Arrival, items: Sequence[Item]) -> Reply:
    urls = [f"/in/{arrival.source}/{item.id.hex()}" for item in items]
    content = taken(arrival)
    if len(arrival.items) == 1:
        return reply(202, content | {"lead_url": urls[0]}, (b"location", urls[0].encode()))
    return reply(202, content | {"lead_urls": urls})
