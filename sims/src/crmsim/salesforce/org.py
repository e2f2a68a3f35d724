"""The org's records, their keys and their history. No HTTP, no waiting: each change can be taken back."""

import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from crmsim.clock import Stamp, datetime_text
from crmsim.salesforce import ids, objects, shaping
from crmsim.salesforce.schema import Field, Sobject
from crmsim.salesforce.switches import Switches

Fields = dict[str, Any]


@dataclass(slots=True)
class Record:
    """One record. `id` is the 15-character form, the key of everything inside; values hold 18-character ids."""

    id: str
    sobject: Sobject
    values: Fields
    version: int = 0
    deleted: bool = False

    @property
    def id18(self) -> str:
        return ids.to18(self.id)


@dataclass(frozen=True, slots=True)
class Version:
    """One change of one record: who, when, by which request, and each changed field as (old, new)."""

    seq: int
    object: str
    id: str
    number: int
    stamp: Stamp
    by: str
    source: str  # api, seed, hand, auto-created
    request: int | None
    changed: Mapping[str, tuple[Any, Any]]

    def json(self) -> dict[str, Any]:
        return {
            "seq": self.seq, "object": self.object, "id": self.id, "version": self.number,
            "at": self.stamp.wall, "mono": self.stamp.mono, "by": self.by, "source": self.source,
            "request": self.request, "changed": self.changed,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Author:
    """Who makes a change: the user's id (18) or a person's words, the source, and the request that carries it."""

    by: str
    source: str
    request: int | None
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Change:
    """A step taken: enough to take it back."""

    record: Record
    before: Fields | None  # None: the record was born
    after: Fields
    author: Author


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """`refuses` looks at the record as it would be. `field`: where the message stands; empty: atop the page."""

    name: str
    object: str
    refuses: Callable[[Record], bool]
    message: str
    field: str = ""
    active: bool = True


@dataclass(slots=True)
class Org:
    """All records by id, by object in order of creation, and by the value of each key field."""

    seed: int = 0
    history: int = 200_000  # versions kept in memory
    objects: dict[str, Sobject] = field(default_factory=objects.standard)
    records: dict[str, Record] = field(default_factory=dict)
    by_object: dict[str, dict[str, Record]] = field(default_factory=lambda: defaultdict(dict))
    keys: dict[tuple[str, str], dict[str, list[str]]] = field(default_factory=lambda: defaultdict(dict))
    versions: deque[Version] = field(init=False)
    sequences: dict[str, Iterator[str]] = field(default_factory=dict)
    version_count: int = 0
    numbers: int = 0  # taken for query cursors
    cursors: dict[str, object] = field(default_factory=dict)  # open queries by locator
    rule_owner: str | None = None  # 18-character id that the assignment rule gives leads to
    rule_id: str = ""
    queue_objects: set[tuple[str, str]] = field(default_factory=set)  # queue's 18-character id, object it may own
    record_types: dict[str, str] = field(default_factory=dict)  # object -> id of the user's default record type
    validation: list[ValidationRule] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.versions = deque(maxlen=self.history)
        self.rule_id = ids.to18(self.new_id("01Q"))

    @property
    def id18(self) -> str:
        """The org's own id: a client can pin it."""
        return ids.to18(next(iter(self.by_object["Organization"])))

    def sobject(self, name: str) -> Sobject | None:
        return self.objects.get(name.lower())

    def new_id(self, prefix: str) -> str:
        if prefix not in self.sequences:
            start = random.Random(f"{self.seed}:{prefix}").randrange(26 * 26)
            self.sequences[prefix] = ids.sequence(prefix, start)
        return next(self.sequences[prefix])

    def take_number(self) -> int:
        self.numbers += 1
        return self.numbers

    def get(self, id_text: str) -> Record | None:
        """By either form of the id; deleted records too."""
        id15 = ids.to15(id_text)
        return self.records.get(id15) if id15 else None

    def match(self, sobject: Sobject, key: Field, value: object) -> list[Record]:
        """Live records whose key field has this value."""
        if key.name == "Id":
            found = self.get(str(value))
            return [found] if found and found.sobject is sobject and not found.deleted else []
        return [self.records[id15] for id15 in self.keys[sobject.name, key.name].get(key.fold(value), ())]

    def live(self, name: str) -> list[Record]:
        return [record for record in self.by_object[name].values() if not record.deleted]

    def insert(self, sobject: Sobject, values: Fields, author: Author, id15: str | None = None) -> Change:
        """A record with the defaults of its object. Keys are not checked here: `rules` does."""
        record = Record(id15 or self.new_id(sobject.prefix), sobject, {})
        born = (
            sobject.born
            | ({"RecordTypeId": self.record_types[sobject.name]} if sobject.name in self.record_types else {})
            | {"Id": record.id18, "CreatedDate": datetime_text(author.stamp.wall), "CreatedById": author.by}
            | values
        )
        self.records[record.id] = record
        self.by_object[sobject.name][record.id] = record
        return self._apply(record, None, born, author)

    def update(self, record: Record, values: Fields, author: Author) -> Change:
        return self._apply(record, record.values, record.values | values, author)

    def _apply(self, record: Record, before: Fields | None, after: Fields, author: Author) -> Change:
        moment = datetime_text(author.stamp.wall)
        after |= {"LastModifiedDate": moment, "LastModifiedById": author.by, "SystemModstamp": moment}
        if record.sobject.name in ("Lead", "Contact"):
            after["Name"] = " ".join(filter(None, (after.get("FirstName"), after.get("LastName"))))
        self._index(record, before or {}, after)
        record.values = after
        record.version += 1
        record.deleted = bool(after.get("IsDeleted"))
        return Change(record, before, after, author)

    def _index(self, record: Record, before: Fields, after: Fields) -> None:
        gone, there = bool(before.get("IsDeleted")), not after.get("IsDeleted")
        for item in record.sobject.keys:
            old = None if gone else before.get(item.name)
            new = after.get(item.name) if there else None
            if old == new:
                continue
            index = self.keys[record.sobject.name, item.name]
            if old is not None:
                index[item.fold(old)].remove(record.id)
                if not index[item.fold(old)]:
                    del index[item.fold(old)]
            if new is not None:
                index.setdefault(item.fold(new), []).append(record.id)

    def revert(self, change: Change) -> None:
        """Take the newest change of a record back, as a rolled-back transaction does."""
        record = change.record
        self._index(record, change.after, change.before or {})
        record.version -= 1
        if change.before is None:
            del self.records[record.id]
            del self.by_object[record.sobject.name][record.id]
        else:
            record.values = change.before
            record.deleted = bool(change.before.get("IsDeleted"))

    def log(self, change: Change) -> Version:
        """Make a change history, once it stands."""
        before, record, author = change.before or {}, change.record, change.author
        changed = {
            name: (before.get(name), value)
            for name, value in change.after.items()
            if name not in NOT_NEWS and before.get(name) != value
        }
        version = Version(
            self.version_count, record.sobject.name, record.id18, record.version, author.stamp, author.by,
            author.source, author.request, changed,
        )  # fmt: skip
        self.version_count += 1
        self.versions.append(version)
        return version

    def shape(self, switches: Switches) -> None:
        """Make the schema and the set-up rows what the switches say. Raises ValueError for a field no object has."""
        every = {name: set(sobject.every) for name, sobject in self.objects.items()}
        wrong = shaping.misspelt(switches, every)
        if wrong:
            raise ValueError(f"no fields {', '.join(wrong)}; write Object.Field")
        for sobject in self.objects.values():
            sobject.shape(shaping.transform(switches, sobject.name))
        self._reindex()
        for record in self.by_object["AssignmentRule"].values():
            record.values["Active"] = switches.assignment_rule and self.rule_owner is not None
        for record in self.by_object["DuplicateRule"].values():
            record.values["IsActive"] = switches.duplicate_rule != "off"

    def _reindex(self) -> None:
        """A key that was taken away and comes back finds the values that its records kept."""
        self.keys.clear()
        for record in self.records.values():
            self._index(record, {}, record.values)

    def plain(self, name: str, values: Fields, id15: str | None = None) -> Record:
        """A row of the org's set-up: it has no history."""
        moment = datetime_text(0)
        record = Record(id15 or self.new_id(self.objects[name.lower()].prefix), self.objects[name.lower()], {}, 1)
        record.values = {
            "Id": record.id18,
            "IsDeleted": False,
            "CreatedDate": moment,
            "SystemModstamp": moment,
        } | values
        self.records[record.id] = record
        self.by_object[name][record.id] = record
        return record


NOT_NEWS = frozenset({"LastModifiedDate", "LastModifiedById", "SystemModstamp", "CreatedDate", "CreatedById"})
