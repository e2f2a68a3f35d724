"""A lead as a HubSpot contact: the mapping, its modes, the owner, the company."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fairturn.config import MapTo, Rep
from fairturn.decide.guarding import guarded, mode_of
from fairturn.decide.users import User, named, user_of
from fairturn.destinations.hubspot.rows import COMPANY, EMAIL, OWNER, Contact, Record, text
from fairturn.model import FieldValue, Outgoing, Refused

LONGEST: Final = 65_536  # characters of a text property
LIFECYCLE: Final = "lifecyclestage"
# HubSpot's own stages, in their order. It ignores a step back without a word; stages of an account's own have ids.
STAGES: Final = (
    "subscriber", "lead", "marketingqualifiedlead", "salesqualifiedlead", "opportunity", "customer", "evangelist",
    "other",
)  # fmt: skip
DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}T")
BOOLS: Final = {"true": True, "false": False}


@dataclass(slots=True)
class Habits:
    """What HubSpot's refusals taught of the account's properties: which are dates, which take which options."""

    dates: set[str] = field(default_factory=set)
    options: dict[str, Mapping[str, str]] = field(default_factory=dict)  # property -> label or value -> value

    def suited(self, name: str, value: object) -> object:
        """The value as the property takes it: a day of a time, an option of its label."""
        if not isinstance(value, str):
            return value
        if name in self.dates and DAY.match(value):
            return value[:10]
        return self.options[name].get(value.strip().casefold(), value) if name in self.options else value


@dataclass(frozen=True, slots=True)
class Encoder:
    """The same lead gives the same record, what was learnt aside. `fields`: property -> where its value comes from."""

    destination: str
    external_id: str
    fields: Mapping[str, MapTo]
    reps: Mapping[str, Rep]
    habits: Habits = field(default_factory=Habits)

    def draft(self, outgoing: Outgoing, users: Iterable[User] | None, *, known: bool = True) -> Record | Refused:
        """What a write of the record would send, by what we know of the one that is there.

        users: the account's owners; None: they may not be read. known False: nobody was asked for them (shadow).
        """
        if outgoing.record_id is None and self.external_id == EMAIL and not outgoing.fields.get("email"):
            words = 'HubSpot finds contacts by their address here (external_id = "email"), and the lead has none'
            return Refused(outgoing.key, "NO_EMAIL", words, (EMAIL,))
        record = self.guard(outgoing, outgoing.found, new=outgoing.record_id is None)
        if outgoing.owner is None:
            return record
        owner = self.owner(outgoing, users, known=known)
        return owner if isinstance(owner, Refused) else {**record, OWNER: owner}

    def onto(self, outgoing: Outgoing, contact: Contact) -> Record:
        """What is to be written over this contact, the owner aside."""
        return self.guard(outgoing, contact.properties, new=False)

    def guard(self, outgoing: Outgoing, current: Mapping[str, object] | None, *, new: bool) -> Record:
        full = {
            name: value
            for name, value in self._whole(outgoing).items()
            if not (name in outgoing.refused and text(outgoing.refused[name]) == text(value))
        }
        if new:
            return {name: value for name, value in full.items() if value is not None and value != ""}
        there = None if current is None else {name: self._like(name, value, full) for name, value in current.items()}
        wrote = {name: self._like(name, value, full) for name, value in (outgoing.confirmed or {}).items()}
        return guarded(full, self._modes(), new=False, wrote=wrote, current=there)

    def names(self) -> tuple[str, ...]:
        """The properties that this mapping writes, and by which a contact is known again."""
        found = [*self.fields, self.external_id, EMAIL, OWNER, COMPANY]
        return tuple(dict.fromkeys(found))

    def owner(self, outgoing: Outgoing, users: Iterable[User] | None, *, known: bool = True) -> str | Refused:
        """The id of an owner (not of a user: `hubspot_owner_id` takes `id`, never `userId`)."""
        who = str(outgoing.owner)
        if outgoing.owner_kind == "raw":
            return self._named(outgoing, who, users, known=known)
        rep = self.reps.get(who)
        if rep is None:
            gone = f"rep {who} is no longer in the settings"
            return Refused(outgoing.key, "OWNER_GONE", gone, (OWNER,), owner_fault=True)
        told = rep.ids.get(self.destination) or rep.email
        if not told:
            words = f"rep {who} has neither an e-mail nor an id in {self.destination}. Add reps.{who}.email"
            return Refused(outgoing.key, "OWNER_WITHOUT_ID", words, (OWNER,))
        if not known:
            return told
        if users is None:
            return told if told.isdigit() else _unread(outgoing, told)
        return self._one(outgoing, told, user_of(who, self.reps, self.destination, users))

    def _named(self, outgoing: Outgoing, told: str, users: Iterable[User] | None, *, known: bool) -> str | Refused:
        """An owner that the settings name for leads that are held or parked: there are no queues at HubSpot."""
        if not known:
            return told
        if users is None:
            return told if told.isdigit() else _unread(outgoing, told)
        return self._one(outgoing, told, named(told, users, "user"))

    def _one(self, outgoing: Outgoing, told: str, found: Sequence[User]) -> str | Refused:
        """Who left, or is nobody by id, is at fault as a rep; a name that means nobody is a fault of the settings."""
        rep = outgoing.owner_kind == "rep"
        if len(found) > 1:
            which = ", ".join(f"{user.name} ({user.id})" for user in found[:5])
            words = f"{told} may be any of {which}. Write the id of one: an owner's, not a user's"
            return Refused(outgoing.key, "OWNER_AMBIGUOUS", words, (OWNER,))
        if found:
            [user] = found
            if user.active:
                return user.id
            words = f"{user.name} ({user.id}) is no active owner in HubSpot any more"
            return Refused(outgoing.key, "INACTIVE_OWNER", words, (OWNER,), owner_fault=rep)
        if told.isdigit():
            words = f"HubSpot has no owner with the id {told}. Is it a user's? An owner's id is another number"
            return Refused(outgoing.key, "UNKNOWN_OWNER", words, (OWNER,), owner_fault=rep)
        words = f"HubSpot has no owner {told}. Give the user access in HubSpot, or write the owner's e-mail, name or id"
        return Refused(outgoing.key, "OWNER_WITHOUT_ID", words, (OWNER,))

    def _modes(self) -> Mapping[str, MapTo]:
        """Our key goes where none is yet; a company is left where there is one."""
        return {**self.fields, self.external_id: self.fields.get(self.external_id, MapTo(mode="if_empty"))}

    def _whole(self, outgoing: Outgoing) -> dict[str, object]:
        record: dict[str, object] = {}
        for name, source in self.fields.items():
            value = self._value(source, outgoing)
            if value is None and source.field not in outgoing.fields:
                continue  # missing never touches what the CRM has
            record[name] = self.habits.suited(name, value)
        if self.external_id != EMAIL:
            record[self.external_id] = outgoing.key
        if (company := company_of(outgoing)) is not None:
            record[COMPANY] = company
        return record

    def _value(self, source: MapTo, outgoing: Outgoing) -> FieldValue:
        value = source.value
        if value is None and source.assignment is not None:
            value = outgoing.assignment.get(source.assignment)
        elif value is None:
            value = outgoing.fields.get(source.field or "")
        if value is None or value == "":
            value = source.default
        if mode_of(source) == "never_unset" and isinstance(value, str):
            value = BOOLS.get(value.casefold(), value)
        if isinstance(value, bool) or value is None:
            return value
        told = text(value)
        return cut(told, min(source.max_length or LONGEST, LONGEST))

    def _like(self, name: str, value: object, record: Record) -> object:
        """A value of HubSpot's as we would write it: a boolean where ours is one."""
        way = self.fields.get(name)
        boolean = isinstance(record.get(name), bool) or (way is not None and way.mode == "never_unset")
        if boolean and isinstance(value, str):
            return BOOLS.get(value.casefold(), value)
        return value if value is None or isinstance(value, bool) else text(value)


def _unread(outgoing: Outgoing, told: str) -> Refused:
    words = (
        f"the owners of HubSpot may not be read, so {told} cannot be found. Give the app the scope "
        "crm.objects.owners.read, or write the owner's id"
    )
    return Refused(outgoing.key, "OWNERS_UNREAD", words, (OWNER,))


def company_of(outgoing: Outgoing) -> str | None:
    """HubSpot's id of the lead's company, where the lead knows it."""
    known = outgoing.fields.get("crm_account_id")
    kind, _, key = (outgoing.account_key or "").partition(":")
    for found in (known, key if kind == "crm" else None):
        if (
            isinstance(found, str | int)
            and not isinstance(found, bool)
            and str(found).isascii()
            and str(found).isdigit()
        ):
            return str(found)
    return None


def sources(mapping: Mapping[str, str | MapTo]) -> Mapping[str, MapTo]:
    """Each property's source; a lifecycle stage moves forward unless the settings say otherwise."""
    found = {name: MapTo(field=way) if isinstance(way, str) else way for name, way in mapping.items()}
    stage = found.get(LIFECYCLE)
    if stage is not None and stage.mode in (None, "forward") and not stage.order:
        found[LIFECYCLE] = stage.model_copy(update={"mode": "forward", "order": STAGES})
    return found


def cut(told: str, limit: int) -> str:
    """At most `limit` UTF-16 units, cut between code points."""
    if len(told) * 2 <= limit:
        return told
    return told.encode("utf-16-le", "surrogatepass")[: limit * 2].decode("utf-16-le", "ignore")
