"""What the surveys of all CRMs share: findings of one destination, and the people whom the settings name there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fairturn.config import Settings
from fairturn.decide.users import User
from fairturn.desk import Finding


@dataclass(slots=True)
class Notes:
    """The findings of one destination, in the order in which they were made."""

    destination: str
    findings: list[Finding] = field(default_factory=list)

    def error(self, subject: str, sentence: str, remedy: str) -> None:
        self.findings.append(Finding("error", self.destination, subject, sentence, remedy))

    def warning(self, subject: str, sentence: str, remedy: str = "") -> None:
        self.findings.append(Finding("warning", self.destination, subject, sentence, remedy))

    def ok(self, subject: str, sentence: str) -> None:
        self.findings.append(Finding("ok", self.destination, subject, sentence))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Somebody whom the settings name in a CRM."""

    subject: str
    text: str  # id, address or name
    kind: Literal["rep", "owner", "parked"]  # owner: of held or parked leads, a user or a queue
    needed: bool = True  # leads are given to them
    rep: str | None = None


def wanted_in(name: str, settings: Settings) -> Iterator[Wanted]:
    """Everybody whom destination `name` has to know; each owner once, however many pools and rules name it."""
    taking = {rep for pool in settings.pools.values() for rep, weight in pool.members.items() if weight}
    taking |= {rule.owner for rule in settings.rules if rule.owner is not None}
    for rep, row in settings.reps.items():
        if text := row.ids.get(name) or row.email:
            yield Wanted(f"rep {rep}", text, "rep", rep in taking, rep)
    owners = [pool.hold_owner.get(name) for pool in settings.pools.values()]
    owners += [rule.park.get(name) if isinstance(rule.park, dict) else rule.park for rule in settings.rules]
    for text in dict.fromkeys(filter(None, owners)):
        yield Wanted(f"owner {text}", text, "owner")
    for text in settings.destinations[name].parked_owners:
        yield Wanted(f"parked owner {text}", text, "parked", needed=False)


def judge_person(notes: Notes, wanted: Wanted, found: Sequence[User], crm: str, where: str) -> User | None:
    """The one who is meant, if they can own records. where: to look people up in the CRM."""
    if not found:
        kinds = {"rep": "user", "owner": "user or queue", "parked": "user or queue"}
        sentence = f'{crm} has no {kinds[wanted.kind]} "{wanted.text}"'
        remedy = f"Write the e-mail, the name or the id as {where} has it"
        (notes.error if wanted.needed else notes.warning)(wanted.subject, sentence, remedy)
        return None
    if len(found) > 1:
        names = ", ".join(f"{one.name} ({one.id})" for one in found[:5])
        sentence = f'"{wanted.text}" names {len(found)} of them: {names}'
        notes.error(wanted.subject, sentence, "Write the id of the one who is meant")
        return None
    [one] = found
    if not one.active and wanted.kind != "parked":
        sentence = f"{one.name} ({one.id}) is inactive, and an inactive user is given no leads"
        remedy = f"Activate the user ({where}), or take the rep out of the pools"
        (notes.error if wanted.needed else notes.warning)(wanted.subject, sentence, remedy)
        return None
    notes.ok(wanted.subject, f"{one.name} ({one.id}), {'active' if one.kind == 'user' else 'a queue'}")
    return one
