"""A lead as a Salesforce record: the mapping, its defaults and lengths, the owner, the account."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fairturn.config import MapTo, Rep
from fairturn.decide.guarding import guarded
from fairturn.decide.record_ids import is_record_id, long_form
from fairturn.destinations.salesforce.describe import Shape
from fairturn.destinations.salesforce.directory import Known, Named, is_id
from fairturn.destinations.salesforce.objects import CONTACT, LEAD, OTHER, translated
from fairturn.model import FieldValue, Outgoing, Refused

Record = Mapping[str, object]
Find = Callable[[Named], Known | None]  # what is known of a name; None: it was not asked for yet

# Characters that standard text fields hold (the describe of a real org, v42). An address is never cut: half of one is
# another one.
LENGTHS: Final[Mapping[str, int]] = {
    "FirstName": 40, "LastName": 80, "Company": 255, "Name": 255, "Title": 128, "Phone": 40, "MobilePhone": 40,
    "Website": 255, "Street": 255, "City": 40, "State": 80, "PostalCode": 20, "Country": 80, "Description": 32_000,
    "MailingStreet": 255, "MailingCity": 40, "MailingState": 80, "MailingPostalCode": 20, "MailingCountry": 80,
}  # fmt: skip
UNCUT: Final = ("Email", "OwnerId")
QUEUE: Final = "00G"  # a queue owns Leads and custom objects; the owner of a Contact or an Account is a user


def nobody_asked(_: Named) -> Known | None:
    return None


@dataclass(frozen=True, slots=True)
class Encoder:
    """Pure: the same lead, and the same knowledge of the org, give the same record."""

    destination: str
    sobject: str  # Lead, Contact ...
    external_id: str
    fields: Mapping[str, MapTo]  # Salesforce field -> where its value comes from
    reps: Mapping[str, Rep] = field(default_factory=dict)
    account_lookup: str | None = None  # e.g. Account__r.Fairturn_Key__c
    contact_fields: Mapping[str, MapTo] = field(default_factory=dict)  # {} = from `fields`
    status_field: str | None = None

    # ---- the record -------------------------------------------------------------------------------------------------

    def object_of(self, outgoing: Outgoing) -> str:
        return outgoing.object_type or self.sobject

    def mapping(self, sobject: str) -> Mapping[str, MapTo]:
        if sobject == CONTACT and self.contact_fields:
            return self.contact_fields
        if sobject == self.sobject or sobject not in OTHER:
            return self.fields
        return translated(self.fields, self.external_id, to=sobject)

    def compose(
        self, outgoing: Outgoing, sobject: str | None = None, *, find: Find = nobody_asked, shape: Shape | None = None
    ) -> dict[str, object]:
        """All that the mapping makes of the lead. Without the owner, and the external id that all carry."""
        sobject = sobject or self.object_of(outgoing)
        record: dict[str, object] = {}
        for name, source in self.mapping(sobject).items():
            if source.record_type is not None:
                known = find(Named("record_type", source.record_type, sobject))
                if known is not None and len(known.ids) == 1:
                    record[name] = known.ids[0]
            elif source.assignment is not None:
                if source.assignment in outgoing.assignment:
                    record[name] = outgoing.assignment[source.assignment]
            elif source.value is not None or source.field in outgoing.fields or source.default is not None:
                record[name] = self._value(name, source, outgoing.fields, shape)
            # missing never touches what the CRM has
        coded = record if shape is None else shape.coded(record)
        return coded | self._account(outgoing, sobject)

    def guard(
        self,
        outgoing: Outgoing,
        record: Record,
        sobject: str,
        *,
        new: bool,
        wrote: Record | None,
        current: Record | None,
    ) -> dict[str, object]:
        """What of it may be written over what the CRM has."""
        modes = dict(self.mapping(sobject))
        for prefix in ("", "Mailing"):
            for name in ("Country", "State"):
                if (way := modes.get(f"{prefix}{name}")) is not None:
                    modes.setdefault(f"{prefix}{name}Code", way)
        found = guarded(record, modes, new=new, wrote=wrote, current=current)
        relation = self._relation()
        if not new and relation in found and current is not None and current.get(id_field(relation or "")) is not None:
            del found[relation]  # an account that somebody chose there
        return {name: value for name, value in found.items() if not refused_before(outgoing, name, value)}

    def draft(self, outgoing: Outgoing, find: Find = nobody_asked, shape: Shape | None = None) -> Record | Refused:
        """The fields that are sent. A name that was not asked for yet stands as it is written."""
        sobject = self.object_of(outgoing)
        if problem := self.impossible(outgoing, sobject):
            return problem
        record = self.guard(
            outgoing,
            self.compose(outgoing, sobject, find=find, shape=shape),
            sobject,
            new=outgoing.record_id is None,
            wrote=outgoing.confirmed,
            current=outgoing.found,
        )
        owner = self.owner(outgoing, sobject, find)
        return owner if isinstance(owner, Refused) else record | owner

    def impossible(self, outgoing: Outgoing, sobject: str) -> Refused | None:
        """A Contact without an account belongs to whoever made it, alone: it is not made."""
        if sobject != CONTACT or outgoing.record_id is not None or self._account(outgoing, sobject):
            return None
        return Refused(
            outgoing.key,
            "CONTACT_WITHOUT_ACCOUNT",
            "a new Contact is made only under an Account that is in Salesforce already, and nothing names one for this "
            f'lead. Set destinations.{self.destination}.account_lookup, or write leads (object = "Lead")',
        )

    def columns(self, sobject: str, shape: Shape | None) -> tuple[str, ...]:
        """What is to be read of a record that is there."""
        relation = self._relation()
        account = (id_field(relation),) if relation and sobject == self.sobject else ()
        names = self.mapping(sobject)
        codes = [f"{name}Code" for name in names if shape is not None and shape.has(f"{name}Code")]
        return (*names, *codes, *account)

    def status(self, sobject: str) -> str | None:
        return self.status_field or ("Status" if sobject == LEAD else None)

    # ---- the owner --------------------------------------------------------------------------------------------------

    def names(self, outgoing: Outgoing) -> tuple[Named, ...]:
        """Those that have to be known before this record can be sent."""
        types = [
            Named("record_type", way.record_type, self.object_of(outgoing))
            for way in self.mapping(self.object_of(outgoing)).values()
            if way.record_type is not None
        ]
        owner = self.owner_named(outgoing)
        return (*types, owner) if owner is not None else tuple(types)

    def owner_named(self, outgoing: Outgoing) -> Named | None:
        """Whom to look for; None: there is no owner, or an id says who it is."""
        if outgoing.owner is None:
            return None
        if outgoing.owner_kind == "raw":
            return None if is_id(outgoing.owner, "005", QUEUE) else Named("owner", outgoing.owner)
        return name_of(self.reps.get(outgoing.owner), self.destination)

    def owner(self, outgoing: Outgoing, sobject: str, find: Find) -> dict[str, object] | Refused:
        """{} where there is none to be written."""
        if outgoing.owner is None:
            return {}
        owner = self._owner(outgoing, find)
        if isinstance(owner, Refused):
            return owner
        if owner.startswith(QUEUE) and sobject in (CONTACT, "Account"):
            return {}  # no queue may own these; the person is in the CRM, its owner follows with the assignment
        return {"OwnerId": long_form(owner) if is_record_id(owner) else owner}

    def _owner(self, outgoing: Outgoing, find: Find) -> str | Refused:
        owner = str(outgoing.owner)
        rep = outgoing.owner_kind == "rep"
        row = self.reps.get(owner)
        if rep and row is None and self.reps:
            gone = f"rep {owner} is no longer in the settings"
            return Refused(outgoing.key, "OWNER_GONE", gone, ("OwnerId",), owner_fault=True)
        named = self.owner_named(outgoing)
        if named is None:
            told = row.ids.get(self.destination) if rep and row is not None else owner
            return told or _without(outgoing, f"rep {owner} has no Salesforce user id. Add {self._id_of(owner)}")
        known = find(named)
        if known is None:
            return named.text
        if len(known.users) == 1:
            return known.users[0].id
        who = f"rep {owner}" if rep else f"the owner {owner!r}"
        remedy = f"Correct reps.{owner}.email, or name the user in {self._id_of(owner)}" if rep else "Correct the name"
        if known.users:
            several = ", ".join(f"{one.name} ({one.id})" for one in known.users)
            words = (
                f"{who} may be {several}: write one of these ids into {self._id_of(owner) if rep else 'the settings'}"
            )
            return Refused(outgoing.key, "OWNER_AMBIGUOUS", words, ("OwnerId",))
        kind = "user" if rep else "queue or user"
        return _without(outgoing, f"Salesforce has no {kind} {named.text!r}, who is {who}. {remedy}")

    def _id_of(self, rep: str) -> str:
        return f"reps.{rep}.ids.{self.destination}"

    # ---- the account ------------------------------------------------------------------------------------------------

    def without_account(self, record: Record) -> Record:
        relation = self._relation()
        names = () if relation is None else (relation, id_field(relation))
        return {name: value for name, value in record.items() if name not in names}

    def account_of(self, record: Record) -> str | None:
        """The id or key by which the record names its account."""
        relation = self._relation()
        if relation is None:
            return None
        named = record.get(id_field(relation), record.get(relation))
        if isinstance(named, Mapping):
            return next((str(key) for key in named.values()), None)
        return None if named is None else str(named)

    def account_key(self) -> str | None:
        """The field of Account by which records name theirs; None: by none, or by one of another object."""
        relation, _, key_field = (self.account_lookup or "").partition(".")
        return key_field if key_field and "account" in relation.lower() else None

    def _relation(self) -> str | None:
        return self.account_lookup.partition(".")[0] if self.account_lookup else None

    def _account(self, outgoing: Outgoing, sobject: str) -> dict[str, object]:
        """By the account's record id where the lead knows it, else by the key of the lookup (a domain)."""
        if self.account_lookup is None or sobject != self.sobject:
            return {}
        relation, _, key_field = self.account_lookup.partition(".")
        known = outgoing.fields.get("crm_account_id")
        kind, _, key = (outgoing.account_key or "").partition(":")
        if isinstance(known, str) and known.startswith("001") and is_record_id(known):
            return {id_field(relation): long_form(known)}
        if kind == "crm" and key.startswith("001") and is_record_id(key):
            return {id_field(relation): long_form(key)}
        return {relation: {key_field: key}} if kind == "domain" and key and key_field else {}

    def _value(self, name: str, source: MapTo, fields: Mapping[str, FieldValue], shape: Shape | None) -> FieldValue:
        value = source.value if source.value is not None else fields.get(source.field or "")
        if value is None or value == "":
            value = source.default
        known = shape.length(name) if shape is not None else None
        limits = [limit for limit in (source.max_length, known or LENGTHS.get(name)) if limit]
        return cut(value, min(limits)) if isinstance(value, str) and limits and name not in UNCUT else value


def payload(rows: Sequence[tuple[str, Mapping[str, object]]]) -> dict[str, Any]:
    """The body of a request for these records, each with its object."""
    records = [{"attributes": {"type": sobject}, **record} for sobject, record in rows]
    return {"allOrNone": False, "records": records}


def name_of(rep: Rep | None, destination: str) -> Named | None:
    """Whom to look for as this rep; None: an id says who it is, or nothing does."""
    told = None if rep is None else rep.ids.get(destination) or rep.email
    return None if told is None or is_id(told, "005", QUEUE) else Named("user", told)


def refused_before(outgoing: Outgoing, name: str, value: object) -> bool:
    return name in outgoing.refused and outgoing.refused[name] == value


def _without(outgoing: Outgoing, words: str) -> Refused:
    return Refused(outgoing.key, "OWNER_WITHOUT_ID", words, ("OwnerId",))


def only_id_is_the_owners(record: Record) -> bool:
    """Whether nothing else that the record carries could be the id of another record."""
    ids = [name for name, value in record.items() if isinstance(value, str) and is_record_id(value)]
    return ids == ["OwnerId"]


def id_field(relation: str) -> str:
    """Account__r -> Account__c, Account -> AccountId."""
    return f"{relation[:-3]}__c" if relation.endswith("__r") else f"{relation}Id"


def sources(mapping: Mapping[str, str | MapTo]) -> Mapping[str, MapTo]:
    return {name: MapTo(field=way) if isinstance(way, str) else way for name, way in mapping.items()}


def cut(text: str, limit: int) -> str:
    """At most `limit` UTF-16 units, cut between code points.

    Salesforce does not say whether an emoji counts once or twice; counted twice it fits either way.
    """
    if len(text) * 2 <= limit:
        return text
    room = limit
    for place, char in enumerate(text):
        room -= 2 if ord(char) > 0xFFFF else 1
        if room < 0:
            return text[:place]
    return text
