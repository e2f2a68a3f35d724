"""Why a lead went where it went: its events, the rule, who could have had it and where they stood, what was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fairturn.config import Settings
from fairturn.decide.addresses import derived, email_facts
from fairturn.decide.eligibility import eligible, why_not
from fairturn.decide.merging import plain
from fairturn.decide.pool import GIVES, PoolFacts
from fairturn.decide.rules import Answer
from fairturn.decide.turn_facts import Seat, in_leads, ready_from, seats
from fairturn.desk import Proofs, Reads
from fairturn.flow.plan import Plan
from fairturn.model import FieldValue, Lead
from fairturn.operate.pool_before import Progress, pool_before
from fairturn.operate.records import kept, kept_json
from fairturn.views import AssignmentLine, EventLine, ExistingLine, HistoryLine, Story, WriteLine


@dataclass(frozen=True, slots=True)
class Candidate:
    rep: str
    name: str
    available: bool
    why_not: str | None  # a sentence; None = it is theirs
    balance: float  # leads, before this turn: above 0 the pool owed them
    credit: int  # turns outside the rotation still to be settled: + owed to them, - by them
    due: float | None = None  # leads they had coming when asked, with their share of this one; None = not asked

    def as_json(self) -> dict[str, object]:
        return {
            "rep": self.rep,
            "available": self.available,
            "why_not": self.why_not,
            "balance": self.balance,
            "due": self.due,
            "credit": self.credit,
        }


@dataclass(frozen=True, slots=True)
class Given:
    """A turn, as the pool's record has it."""

    candidates: tuple[Candidate, ...]
    number: int  # the how many-th lead that the pool gave
    ready_from: float  # who has as much of a lead coming may be given one
    payer: str | None  # name of who was next, and paid with the turn for a lead kept before


@dataclass(frozen=True, slots=True)
class Why:
    story: Story
    rules: tuple[Answer, ...]  # every rule's answer for the lead as it is known now
    candidates: tuple[Candidate, ...]
    given: AssignmentLine | None  # the row that gave the lead to its rep
    then: datetime | None  # the candidates stood so then; None = they stand so now
    turn: Given | None = None  # of a lead that a pool gave

    def as_json(self) -> dict[str, object]:
        lead = self.story.line.lead
        return {
            "lead": lead.id,
            "status": lead.status,
            "reason": lead.reason,
            "events": [event_json(one) for one in self.story.events],
            "existing": [existing_json(one) for one in self.story.existing],
            "rule": lead.rule,
            "pool": lead.pool,
            "rep": lead.rep,
            "number": self.turn.number if self.turn else None,
            "paid_by": self.turn.payer if self.turn else None,
            "candidates": [one.as_json() for one in self.candidates],
            "writes": [write_json(one) for one in self.story.writes],
            "records": [kept_json(one) for one in kept(self.story)],
        }


def event_json(one: EventLine) -> dict[str, object]:
    return {
        "event": one.id,
        "source": one.source,
        "received_at": one.received_at,
        "state": one.state,
        "problem": one.problem,
        "marks": list(one.marks),
    }


def write_json(one: WriteLine) -> dict[str, object]:
    return {
        "destination": one.destination,
        "version": one.version,
        "sent_at": one.sent_at,
        "answered_at": one.answered_at,
        "outcome": one.outcome,
        "record": one.record_id,
        "created": one.created,
        "owner": one.owner,
        "code": one.code,
        "message": one.message,
        "without": dict(one.without),
        "owner_stands": one.owner_stands,
    }


def existing_json(one: ExistingLine) -> dict[str, object]:
    return {
        "destination": one.destination,
        "state": one.state,
        "email": one.email,
        "since": one.since,
        "answered_at": one.answered_at,
        "records": list(one.records),
        "why": one.why,
    }


async def why(
    reads: Reads, proofs: Proofs, plan: Plan | None, story: Story, progress: Progress = lambda *_: None
) -> Why:
    """`plan`: of the settings that decided, as far as they are known; None = reasons are told from the record alone."""
    lead = story.line.lead
    given = giving(story)
    values = known_values(lead, plan.settings if plan else None)
    answers = plan.rules.explain(values, lead.source) if plan else ()
    if given is not None and given.pool is not None and given.seq is not None:
        turn = await _then(reads, proofs, plan, given, values, progress)
        return Why(story, answers, turn.candidates, given, given.at, turn)
    if lead.status == "held" and plan and lead.pool in plan.shapes:
        return Why(story, answers, await _now(reads, plan, lead, values), None, None)
    return Why(story, answers, (), given, None)


def giving(story: Story) -> AssignmentLine | None:
    """The row that gave the lead to the rep who has it."""
    lead = story.line.lead
    rows = [row for row in story.assignments if row.kind in GIVES or row.kind == "owner"]
    return next((row for row in reversed(rows) if row.rep == lead.rep), None) if lead.status == "assigned" else None


def known_values(lead: Lead, settings: Settings | None) -> Mapping[str, FieldValue]:
    values = plain(lead.fields)
    if settings is None:
        return values
    email = values.get("email")
    facts = email_facts(email if isinstance(email, str) else None, settings.organisation, settings.routing)
    return {**values, **derived(facts)}


async def _then(
    reads: Reads,
    proofs: Proofs,
    plan: Plan | None,
    given: AssignmentLine,
    values: Mapping[str, FieldValue],
    progress: Progress,
) -> Given:
    """Everybody in the pool as they stood before the turn, recomputed from the pool's record."""
    before = await pool_before(proofs, given.pool or "", given.seq or 0, given.kind, progress)
    shares = given.shares or {}
    sat = {seat.rep: seat for seat in seats(shares, given.eligible, before.balances, before.total, given.rep)}
    asked, payer = sat, before.paid.rep if before.paid else None
    if before.paid is not None:
        # A debt paid in the same turn is part of it: what is told is how all stood when the payer was chosen.
        members = {member.rep: member.weight for member in before.paid.shares or ()}
        first = seats(members, before.paid.eligible, before.first, before.first_total, payer)
        asked = {seat.rep: seat for seat in first}
    turn = _Turn(given, plan, values, payer, await reads.history("rep", 1000))
    candidates = tuple(
        Candidate(
            rep=rep,
            name=turn.name(rep),
            # Outside the rotation nobody else was asked.
            available=given.kind != "turn" or (rep in sat and sat[rep].may),
            why_not=turn.why_not(rep, sat.get(rep)),
            balance=round(in_leads(balance, before.first_total), 2) + 0.0,
            credit=before.credit.get(rep, 0),
            due=round(asked[rep].due, 2) + 0.0 if rep in asked else None,
        )
        for rep, balance in before.first.items()
    )
    return Given(candidates, before.number, ready_from(len(shares)), turn.name(payer) if payer else None)


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn that was taken, and what is known about it."""

    given: AssignmentLine
    plan: Plan | None
    values: Mapping[str, FieldValue]
    paid: str | None  # who was the first choice, and paid a debt with it
    pauses: Sequence[HistoryLine]  # newest first

    def name(self, rep: str) -> str:
        return _name(self.plan, rep)

    def why_not(self, rep: str, seat: Seat | None) -> str | None:
        winner = self.name(self.given.rep)
        if rep == self.given.rep:
            return None
        if self.given.kind == "credit":
            return f"{winner} was owed a lead for a turn given back."
        if self.given.kind == "kept":
            return "It was given outside the rotation."
        if seat is None:
            return self._absence(rep)
        if not seat.may:
            return self._filtered(rep)
        if rep == self.paid:
            return f"{self.name(rep)} was next, and paid with this turn for a lead kept before; so it went to {winner}."
        if not seat.ready:
            return f"{self.name(rep)} had too little of a lead coming yet; {winner} had enough."
        return f"{self.name(rep)} was due too; {winner} was due sooner."

    def _filtered(self, rep: str) -> str:
        plan = self.plan
        pool = plan.settings.pools.get(self.given.pool or "") if plan else None
        if plan and pool:
            said = why_not(rep, plan.by_id.get(self.given.rule or ""), pool, plan.settings, self.values, {})
            if said:
                return said
        return f"The rule's filter left {self.name(rep)} out."

    def _absence(self, rep: str) -> str:
        last = next((row for row in self.pauses if row.subject == f"rep {rep}" and row.at <= self.given.at), None)
        if last is not None and last.verb == "pause":
            return f"{self.name(rep)} was paused by {last.actor}: {last.reason or 'no reason given'}."
        pool = self.plan.settings.pools.get(self.given.pool or "") if self.plan else None
        if pool and pool.members.get(rep) == 0:
            return f"{self.name(rep)} has weight 0 here, so no lead goes to them."
        return f"{self.name(rep)} did not share this turn: paused, or not in the pool yet."


def _name(plan: Plan | None, rep: str) -> str:
    return plan.settings.reps[rep].name if plan and rep in plan.settings.reps else rep


async def _now(reads: Reads, plan: Plan, lead: Lead, values: Mapping[str, FieldValue]) -> tuple[Candidate, ...]:
    """A held lead: everybody in its pool and those it falls back to, as they stand now."""
    found: dict[str, Candidate] = {}
    paused = {rep.id: rep.pause.reason or "" for rep in await reads.reps() if rep.pause}
    rule = plan.by_id.get(lead.rule or "")
    chain = [pool for pool in plan.chains.get(lead.pool or "", ()) if pool in plan.shapes]
    for name, facts in (await reads.pools({pool: plan.shapes[pool] for pool in chain})).items():
        pool = plan.settings.pools[name]
        among = eligible(rule, pool, plan.settings, values) if rule else None
        for member in facts.members:
            said = why_not(member.rep, rule, pool, plan.settings, values, paused)
            may = said is None and (among is None or member.rep in among)
            seat = Candidate(
                member.rep,
                _name(plan, member.rep),
                may,
                said,
                round(in_leads(facts.balances[member.rep], facts.total), 2) + 0.0,
                credit_of(facts, member.rep),
            )
            found.setdefault(member.rep, seat)
    return tuple(found.values())


def credit_of(facts: PoolFacts, rep: str) -> int:
    return sum(1 if credit.kind == "owed" else -1 for credit in facts.credits if credit.rep == rep)
