"""The account's records, their keys, owners, associations and history. No HTTP, no waiting."""

import itertools
import random
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crmsim.clock import Stamp
from crmsim.hubspot.properties import ObjectType, standard
from crmsim.hubspot.values import fold, instant

Values = dict[str, str]


@dataclass(slots=True)
class Owner:
    """Somebody who can own records. `id` is what `hubspot_owner_id` takes; `user` is the user's own number."""

    id: str
    email: str
    first: str
    last: str
    user: int
    archived: bool
    born: str
    teams: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}".strip()


@dataclass(slots=True)
class Record:
    """One record. `values` holds what is set, as text. `index`: what search saw, from which simulated second on."""

    id: str
    kind: ObjectType
    values: Values
    born: float  # wall
    changed: float = 0.0  # wall
    version: int = 0
    archived: bool = False
    archived_at: float | None = None
    index: deque[tuple[float, Values | None]] = field(default_factory=deque)

    @property
    def email(self) -> str | None:
        return self.values.get("email")


@dataclass(frozen=True, slots=True)
class Author:
    """Who makes a change: an app, an owner or words; the source; the request that carries it."""

    by: str
    source: str  # api, seed, hand, writer, merge
    request: int | None
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Version:
    """One change of one record, in the shape that all simulators share."""

    seq: int
    object: str
    id: str
    number: int
    author: Author
    changed: Mapping[str, tuple[Any, Any]]

    def json(self) -> dict[str, Any]:
        author = self.author
        return {
            "seq": self.seq, "object": self.object, "id": self.id, "version": self.number,
            "at": author.stamp.wall, "mono": author.stamp.mono, "by": author.by, "source": author.source,
            "request": author.request, "changed": self.changed,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Link:
    """An association of two records with its type; HubSpot shows it from both ends."""

    start: str
    end: str
    type_id: int


PRIMARY, PLAIN = 1, 279  # contact to company (HS-docs associations v4); 2 and 280 the other way
MIRROR = {PRIMARY: 2, PLAIN: 280, 2: PRIMARY, 280: PLAIN}
NOT_NEWS = frozenset({"lastmodifieddate", "hs_lastmodifieddate", "createdate", "hs_object_id"})


@dataclass(slots=True)
class Portal:
    """All that one account holds."""

    seed: int = 0
    history: int = 200_000  # versions kept in memory
    kinds: dict[str, ObjectType] = field(default_factory=standard)
    records: dict[str, Record] = field(default_factory=dict)
    by_kind: dict[str, dict[str, Record]] = field(default_factory=lambda: defaultdict(dict))
    keys: dict[tuple[str, str], dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    owners: dict[str, Owner] = field(default_factory=dict)
    links: dict[str, set[Link]] = field(default_factory=lambda: defaultdict(set))  # by the record they start from
    merged: dict[str, str] = field(default_factory=dict)  # old id -> the record it is part of
    versions: deque[Version] = field(init=False)
    version_count: int = 0
    _last_id: int = 0
    _dice: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.versions = deque(maxlen=self.history)
        self._dice = random.Random(f"{self.seed}:ids")
        self._last_id = 170_000_000_000 + self._dice.randrange(10**9)

    def kind(self, name: str) -> ObjectType | None:
        """By any alias: contacts, CONTACT, 0-1."""
        return next((kind for kind in self.kinds.values() if name.lower() in kind.aliases), None)

    def new_id(self) -> str:
        """Ids grow, with gaps, as real ones do."""
        self._last_id += self._dice.randrange(1, 1000)
        return str(self._last_id)

    def owner_state(self, owner_id: str) -> str:
        owner = self.owners.get(owner_id)
        return "unknown" if owner is None else "archived" if owner.archived else "active"

    def get(self, kind: ObjectType, record_id: str) -> Record | None:
        """By its id, or by one that was merged into it. Archived ones too."""
        record = self.records.get(self.survivor(record_id))
        return record if record is not None and record.kind is kind else None

    def survivor(self, record_id: str) -> str:
        while record_id in self.merged:
            record_id = self.merged[record_id]
        return record_id

    def find(self, kind: ObjectType, name: str | None, value: str) -> Record | None:
        """The live record with this id, or with this value of a unique property; a second e-mail finds it too."""
        if name is None or name == "hs_object_id":
            record = self.get(kind, value)
        else:
            known = self.keys[kind.name, name].get(fold(kind, name, value))
            record = self.records.get(known) if known else None
        return record if record is not None and not record.archived else None

    def live(self, name: str) -> list[Record]:
        return [record for record in self.by_kind[name].values() if not record.archived]

    def holder(self, kind: ObjectType, values: Mapping[str, str], but: Record | None) -> tuple[str, Record] | None:
        """The unique property whose value another live record has already, and that record."""
        for name, key in _keys_of(kind, values):
            known = self.keys[kind.name, name].get(key)
            if known is not None and (but is None or known != but.id):
                return name, self.records[known]
        return None

    def insert(self, kind: ObjectType, values: Mapping[str, str], author: Author, given: str | None = None) -> Record:
        """A record as it is born. Keys are not checked here: the work does."""
        record = Record(given or self.new_id(), kind, {}, author.stamp.wall)
        self.records[record.id] = record
        self.by_kind[kind.name][record.id] = record
        born = {"createdate": instant(record.born), "hs_object_id": record.id}
        if kind.name == "contacts":
            born["hs_all_contact_vids"] = record.id
        self.apply(record, born | dict(values), author)
        return record

    def apply(self, record: Record, values: Mapping[str, str], author: Author) -> Version:
        """Set values; "" clears. Derived ones follow. The change is history at once."""
        before = dict(record.values)
        after = {name: value for name, value in (before | dict(values)).items() if value != ""}
        moment = instant(author.stamp.wall)
        after[record.kind.modified] = moment
        if after.get("hubspot_owner_id") != before.get("hubspot_owner_id"):
            after["hubspot_owner_assigneddate"] = moment
        if "email" in after:
            after["hs_email_domain"] = after["email"].rpartition("@")[2]
        self._index(record, before, after)
        record.values, record.changed = after, author.stamp.wall
        return self._log(record, before, author)

    def archive(self, record: Record, author: Author) -> Version:
        """Take a record away: its keys are free again."""
        self._index(record, record.values, {})
        record.archived, record.archived_at = True, author.stamp.wall
        return self._log(record, {**record.values, "_archived": False}, author, {"_archived": True})

    def restore(self, record: Record, author: Author) -> Version:
        self._index(record, {}, record.values)
        record.archived, record.archived_at = False, None
        return self._log(record, {**record.values, "_archived": True}, author, {"_archived": False})

    def merge(self, primary: Record, other: Record, author: Author, *, new_id: bool) -> Record:
        """Make two records one (HS-knowledge merge-records); every old id resolves to what stays.

        The primary's values stand, gaps are filled from the other, whose e-mail becomes an additional one.
        """
        kept = other.values | primary.values
        emails = [*_parts(primary.values), *_parts(other.values)]
        for record in (primary, other):
            self._index(record, record.values, {})
        kept["hs_merged_object_ids"] = ";".join(
            dict.fromkeys([*_ids(primary), *_ids(other), *([primary.id] if new_id else []), other.id])
        )
        if emails:
            kept["email"], kept["hs_additional_emails"] = emails[0], ";".join(dict.fromkeys(emails[1:]))
        stays = primary
        if new_id:
            stays = Record(self.new_id(), primary.kind, {}, primary.born)
            self.records[stays.id] = stays
            self.by_kind[primary.kind.name][stays.id] = stays
        for old in {primary.id, other.id} - {stays.id}:
            self.merged[old] = stays.id
            gone = self.records.pop(old)
            del self.by_kind[primary.kind.name][old]
            gone.archived = True
            self._move_links(old, stays.id)
        kept["hs_object_id"] = stays.id
        stays.values = {} if new_id else stays.values
        if not new_id:
            self._index(stays, {}, stays.values)
        self.apply(stays, kept, author)
        return stays

    def _move_links(self, old: str, new: str) -> None:
        """Every association of a record that is no more belongs to the one it is part of."""
        for link in self.links.pop(old, set()):
            self.links[link.end] = {back for back in self.links[link.end] if back.end != old}
            if link.end != new:
                self.links[new].add(Link(new, link.end, link.type_id))
                self.links[link.end].add(Link(link.end, new, MIRROR.get(link.type_id, link.type_id)))

    def since(self, seq: int) -> list[Version]:
        """The versions from a number on, oldest first."""
        newest = itertools.takewhile(lambda version: version.seq >= seq, reversed(self.versions))
        return list(newest)[::-1]

    def _index(self, record: Record, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        kind = record.kind
        for name, key in _keys_of(kind, before):
            if self.keys[kind.name, name].get(key) == record.id:
                del self.keys[kind.name, name][key]
        for name, key in _keys_of(kind, after):
            self.keys[kind.name, name].setdefault(key, record.id)

    def _log(
        self, record: Record, before: Mapping[str, Any], author: Author, extra: Mapping[str, Any] | None = None
    ) -> Version:
        record.version += 1
        after: dict[str, Any] = {**record.values, **(extra or {})}
        changed = {
            name: (before.get(name), after.get(name))
            for name in dict.fromkeys([*after, *before])
            if name not in NOT_NEWS and before.get(name) != after.get(name)
        }
        version = Version(self.version_count, record.kind.name, record.id, record.version, author, changed)
        self.version_count += 1
        self.versions.append(version)
        return version


def _parts(values: Mapping[str, str]) -> list[str]:
    """A contact's e-mails, the first one first."""
    more = values.get("hs_additional_emails", "")
    return [*([values["email"]] if values.get("email") else []), *(part for part in more.split(";") if part)]


def _ids(record: Record) -> list[str]:
    return [part for part in record.values.get("hs_merged_object_ids", "").split(";") if part]


def _keys_of(kind: ObjectType, values: Mapping[str, str]) -> list[tuple[str, str]]:
    """What the record is found by: each unique property with its folded value; additional e-mails count as e-mails."""
    found = [(name, fold(kind, name, values[name])) for name in kind.unique if values.get(name)]
    if kind.is_email("email"):
        more = values.get("hs_additional_emails", "")
        found += [("email", part.strip().lower()) for part in more.split(";") if part.strip()]
    return found
