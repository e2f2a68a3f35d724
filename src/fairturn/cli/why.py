"""fairturn why"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from fairturn.cli import paper
from fairturn.cli.progress import bar
from fairturn.cli.running import Config, Json, run

if TYPE_CHECKING:
    from fairturn.assemble.operator import Operator
    from fairturn.operate.destinations import DestinationView
    from fairturn.operate.why import Why

LEAD = "An e-mail address, the lead's number, a CRM record's id, or a source's own id."


def why(
    lead: Annotated[str, typer.Argument(help=LEAD, metavar="LEAD")],
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Say what happened to a lead and why: what arrived, which rule, whose turn, what was written, what waits."""
    from fairturn.operate import destinations, leads
    from fairturn.operate.why import giving
    from fairturn.operate.why import why as explain

    async def work(op: Operator) -> None:
        settings = op.settings.settings if op.settings else None
        story = await leads.show(op.reads, await leads.locate(op.reads, lead, settings))
        row = giving(story)
        plan = await op.plan_then(row.config if row else None)
        with bar("pool") as tell:
            found = await explain(op.reads, op.proofs, plan, story, tell)
        if as_json:
            paper.as_json(found.as_json())
            return
        paper.say(*_arrived(found), *_there(found), *_matched(found), *_given(found))
        _table(found)
        paper.say(*_written(found, {v.standing.id: v for v in await destinations.destinations(op.reads, settings)}))

    run(config, work)


def _arrived(found: Why) -> Iterator[str]:
    from fairturn.operate.leads import name
    from fairturn.operate.records import mark_in_words

    story = found.story
    lead = story.line.lead
    yield f"Lead {lead.id}: {name(lead.fields)}"
    if story.merged:
        yield f"The same person as {paper.many(len(story.merged), 'later lead')}: {', '.join(map(str, story.merged))}."
    shown = story.events if len(story.events) <= 6 else (*story.events[:3], *story.events[-3:])
    for number, event in enumerate(shown):
        if len(shown) < len(story.events) and number == 3:
            yield f"  … {len(story.events) - 6:,} more …"
        problem = f": {event.problem}" if event.problem else ""
        yield f"  {paper.at(event.received_at)}  event from {event.source}, {event.state}{problem}"
        for mark in event.marks:
            yield f"    noted: {mark_in_words(mark)}"


def _there(found: Why) -> Iterator[str]:
    """Whether the CRMs knew the person before."""
    for one in found.story.existing:
        if one.state == "due":
            yield f"{paper.at(one.since)}  {one.destination} is asked whether {one.email} is there."
        elif one.state == "answered":
            said = one.why or "it answered"
            yield f"{paper.at(one.answered_at)}  {one.destination} was asked for {one.email}: {said}."
        else:
            yield f"{paper.at(one.answered_at)}  {one.why or f'{one.destination} gave no answer'}."


def _matched(found: Why) -> Iterator[str]:
    rule = found.story.line.lead.rule
    if rule is None:
        yield "No rule has decided about it."
        return
    for name, truth, reason in found.rules:
        if name == rule:
            yield f"Rule {name} decided" + (f": {reason}." if truth else ".")
            if not truth:
                yield f"  What is known of the lead now would not match it any more: {reason}."
            return
        said = "matches now, and did not then" if truth else "did not match" if truth is False else "had no answer"
        yield f"Rule {name} {said}: {reason}."
    yield f"Rule {rule} decided; it is no longer in the settings."


def _given(found: Why) -> Iterator[str]:
    lead, row = found.story.line.lead, found.given
    match lead.status:
        case "assigned" if row is not None and row.pool is not None:
            number = f" as its lead no. {found.turn.number:,}" if found.turn else ""
            yield f"{paper.at(row.at)}  {row.rep} got it in pool {row.pool}{number}: {row.reason}."
            if found.turn and found.turn.payer:
                payer = found.turn.payer
                yield f"  {payer} was next and paid with this turn for a lead kept before; so it went to {row.rep}."
        case "assigned" if row is not None:
            yield f"{paper.at(row.at)}  {row.rep} got it: {row.reason}."
        case "assigned":
            yield f"{lead.rep} has it: {lead.reason or 'taken over with another lead'}."
        case "held":
            yield f"Held in pool {lead.pool} for {paper.ago(found.story.line.held_at)}: {lead.reason}."
        case "waiting":
            yield f"It has no owner yet: it {lead.reason}, at most until {paper.at(lead.wait_until)}."
        case "owned":
            yield f"Its owner in the CRM keeps it, and no turn was taken: {lead.reason}."
        case _:
            yield f"Nobody gets it ({lead.status}): {lead.reason or 'no reason was kept'}."
    for other in found.story.assignments:
        if row is None or (other.pool, other.seq) != (row.pool, row.seq):
            words = "was given back by" if other.kind == "returned" else f"went as a {other.kind} to"
            yield f"  {paper.at(other.at)}  it {words} {other.rep}: {other.reason}."


def _table(found: Why) -> None:
    if not found.candidates:
        return
    paper.say("", "Who stood where before this turn, in leads:" if found.then else "Who stands where now, in leads:")
    asked = any(candidate.due is not None for candidate in found.candidates)
    credit = any(candidate.credit for candidate in found.candidates)
    headings = ("Rep", "Balance", *(("Coming",) if asked else ()), *(("Credit",) if credit else ()), "Why not")
    rows = []
    for one in found.candidates:
        row = [one.rep, f"{one.balance:+.2f}"]
        if asked:
            row.append("" if one.due is None else f"{one.due:+.2f}")
        if credit:
            row.append(f"{one.credit:+d}" if one.credit else "")
        rows.append([*row, one.why_not or ("it is theirs" if found.then else "could take it now")])
    paper.table(headings, rows, right=range(1, len(headings) - 1))
    paper.say("Balance: above 0 the pool owed the rep, below 0 the rep was ahead.")
    if found.turn and asked:
        paper.say(
            "Coming: the balance among those who were there, with the rep's share of this lead; it can be given from "
            f"{found.turn.ready_from:+.2f} on."
            + (" The payment was a turn too: everybody had their share once more after it." if found.turn.payer else "")
        )
    if credit:
        paper.say("Credit: leads outside the rotation, still to be settled; above 0 the pool owes the rep one.")
    paper.say("")


def _shut(view: DestinationView) -> str | None:
    """Why the destination as a whole is not sent to; None = it is."""
    if view.state in {"open", "shadow"}:
        return None
    return f"{view.standing.id} is paused {view.cause}" if view.state == "paused" else view.cause


def _written(found: Why, standings: dict[str, DestinationView]) -> Iterator[str]:
    from fairturn.operate.records import in_words, kept

    yield from _writes(found)
    yield from _changes(found, standings)
    for one in kept(found.story):
        if one.written:
            yield f"{one.destination}, as it last confirmed it: {in_words(one.written)}"
        if one.shadow:
            yield f"{one.destination}, as it would have been sent (shadow): {in_words(one.shadow)}"
    if not found.story.changes and not found.story.writes:
        yield "Nothing is to be written for it."


def _writes(found: Why) -> Iterator[str]:
    for write in found.story.writes:
        company = f", with {paper.many(write.records - 1, 'other')}" if write.records > 1 else ""
        said = {
            "written": f"written as {write.record_id}" + (" (new)" if write.created else ""),
            "same": "nothing new to write",
            "shadow": "recorded, not sent (shadow)",
            "refused": f"refused: {write.code}: {write.message}",
            "later": f"to be tried again: {write.code}: {write.message}",
            "unknown": f"no certain answer ({write.message}), written again under the same key",
        }.get(write.outcome or "", "no answer yet")
        owner = f", owner {write.owner}" if write.owner else ""
        yield f"{paper.at(write.answered_at or write.sent_at)}  {write.destination}: {said}{owner}{company}."
        if write.owner_stands:
            stands = f"{write.owner_stands} has it there, changed by somebody in {write.destination} since"
            yield f"  its owner was left alone: {stands}."
        for name, words in write.without.items():
            yield f"  without {name}: {words}"


def _changes(found: Why, standings: dict[str, DestinationView]) -> Iterator[str]:
    for change in found.story.changes:
        view = standings.get(change.destination)
        if change.state == "pending":
            cause = (_shut(view) if view else None) or change.cause
            until = f", not before {paper.at(change.due_at)}" if change.due_at else ""
            waited = paper.ago(change.since)
            yield f"{change.destination}: a change waits for {waited}{until}: {cause or 'for its window'}."
        elif change.state == "in_flight":
            yield f"{change.destination}: a request is under way."
        elif change.state == "failed":
            yield f"{change.destination}: FAILED: {change.code}: {change.message}. See `fairturn failed list`."
        if change.without and change.state != "failed":
            fields = ", ".join(change.without)
            again = f"fairturn failed retry {found.story.line.lead.id}"
            yield f"{change.destination} has it without {fields}; sent again by `{again}`."
        if change.state == "done" and (change.cause or "").startswith("dropped"):
            yield f"{change.destination}: given up, {change.cause}."
