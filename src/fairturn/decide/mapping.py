"""From a payload to lead fields: a source's JMESPath ways, compiled once, then run on every event.

What a way finds is one of three things, and they are not the same (docs of each in the tests of case 75):
- nothing: the lead's value is not touched;
- null, "" or blanks: not touched either, unless the field stands in the source's `clears`; then it is erased;
- a value of the field's type: it is set. What does not fit the type counts as nothing, and the event carries a mark.
Of several ways for a field the first that finds a value wins; where none does, `constants` fill in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fairturn.config import STANDARD_FIELDS, Settings, Source
from fairturn.decide.addresses import AddressReader, address_reader
from fairturn.decide.mailboxes import is_nothing
from fairturn.decide.paths import MISSING, Broken, Path, path
from fairturn.decide.phones import is_region, phone
from fairturn.decide.places import country
from fairturn.decide.times import Unreadable, instant
from fairturn.decide.typed import NotTaken, Reader, cut, exact, reader, single
from fairturn.errors import ConfigError, Fault, MappingProblem
from fairturn.model import FieldValue
from fairturn.quick import quick

OLDEST: Final = datetime(2000, 1, 1, tzinfo=UTC)  # an event before this has a clock that was never set
Flatten = Callable[[object], object]


@quick(frozen=True, slots=True)
class Mapped:
    """What one event says of a lead."""

    values: Mapping[str, FieldValue]  # field -> value; never None, never blank
    cleared: frozenset[str]  # fields that the event erases
    ids: Mapping[str, str]  # the source's own ids, exact digits
    occurred_at: datetime  # UTC; of arrival where the event has no usable time of its own
    marks: tuple[str, ...] = ()  # "field: what was odd", for people


@dataclass(frozen=True, slots=True)
class FieldWays:
    name: str
    ways: tuple[Path, ...]
    read: Reader
    constant: FieldValue
    clears: bool

    def find(self, payload: object, marks: list[str]) -> FieldValue | Cleared:
        """The event's value, None when it has none, CLEARED when it erases the field."""
        blank = False
        for way in self.ways:
            try:
                raw = way(payload)
                if raw is MISSING:
                    continue
                value, mark = self.read(raw)
            except (NotTaken, Broken) as error:
                marks.append(f"{self.name}: {error}")
                continue
            if mark:
                marks.append(f"{self.name}: {mark}")
            if value is not None:
                return value
            blank = True
        return CLEARED if blank and self.clears and self.constant is None else None


class Cleared:
    """The type of CLEARED: the event erases the field."""

    __slots__ = ()


CLEARED: Final = Cleared()


@dataclass(frozen=True, slots=True)
class Mapper:
    """Mapper(payload, received_at) -> Mapped. Raises MappingProblem when the event cannot be a lead's."""

    source_id: str
    fields: tuple[FieldWays, ...]
    ids: tuple[tuple[str, Path], ...]
    occurred: Path | None
    zone: tzinfo
    future: timedelta
    flatten: Flatten
    polish: Callable[[dict[str, FieldValue], list[str]], None]

    def __call__(self, payload: object, received_at: datetime) -> Mapped:
        flat = self.flatten(payload)
        if not isinstance(flat, dict):
            raise MappingProblem(f"This event is {article(flat)}, not an object with named fields.")
        marks: list[str] = []
        values: dict[str, FieldValue] = {}
        cleared = set()
        for field in self.fields:
            value = field.find(flat, marks)
            if isinstance(value, Cleared):
                cleared.add(field.name)
            elif value is not None:
                values[field.name] = value
        ids = self.find_ids(flat, marks)
        if not (values or ids or cleared):
            raise MappingProblem(nothing_found(self.source_id, flat, marks))
        for field in self.fields:
            if field.constant is not None:
                values.setdefault(field.name, field.constant)
        self.polish(values, marks)
        return Mapped(values, frozenset(cleared), ids, self.time(flat, received_at, marks), tuple(marks))

    def find_ids(self, flat: object, marks: list[str]) -> dict[str, str]:
        found = {}
        for name, way in self.ids:
            try:
                raw = way(flat)
                text = None if raw is MISSING else exact(single(raw))
            except (NotTaken, Broken) as error:
                marks.append(f"{name}: {error}")
                continue
            if text and is_nothing(text):
                marks.append(f"{name}: {text[:40]!r} is a placeholder, not an id")
            elif text:
                found[name] = text
        return found

    def time(self, flat: object, received_at: datetime, marks: list[str]) -> datetime:
        """The event's own time if it has one that can be; its arrival otherwise, with a mark."""
        if self.occurred is None:
            return received_at
        try:
            raw = single(self.occurred(flat))
            if raw is MISSING or raw is None or raw == "":
                return received_at
            moment = instant(raw, self.zone)
        except (Broken, Unreadable) as error:
            marks.append(f"occurred_at: {error}")
            return received_at
        if moment > received_at + self.future:
            marks.append("occurred_at: in the future, taken as the time of arrival")
            return received_at
        if moment < OLDEST:
            marks.append("occurred_at: before the year 2000, taken as the time of arrival")
            return received_at
        return moment


def compile_mapper(
    source_id: str, source: Source, settings: Settings, flatten: Flatten = lambda payload: payload
) -> Mapper:
    """A source's mapping, ready to run. Raises ConfigError with every fault of it.

    A source without `map` takes what the payload has under the lead fields' own names.
    """
    faults: list[Fault] = []
    kinds = STANDARD_FIELDS | settings.fields
    zone = zone_of(source_id, source, faults)
    fields = []
    named = source.map or {name: name for name in kinds}
    for name in dict.fromkeys((*named, *source.constants)):
        key = f"sources.{source_id}.map.{name}"
        if name not in kinds:
            faults.append(
                Fault(
                    f"a lead has no field {name!r}",
                    f"Add it under [fields], or use one of {', '.join(kinds)}.",
                    key=key,
                )
            )
            continue
        written = named.get(name, ())
        ways = [compiled(way, key, faults) for way in ((written,) if isinstance(written, str) else written)]
        read = first_of_list if name in {"email", "phone"} else reader(kinds[name], zone)
        constant = constant_of(source_id, source, name, reader(kinds[name], zone), faults)
        fields.append(FieldWays(name, tuple(ways), read, constant, name in source.clears))
    ids = tuple((name, compiled(way, f"sources.{source_id}.ids.{name}", faults)) for name, way in source.ids.items())
    occurred = compiled(source.occurred_at, f"sources.{source_id}.occurred_at", faults) if source.occurred_at else None
    if faults:
        raise ConfigError(tuple(faults))
    future = timedelta(seconds=settings.routing.future_tolerance)
    return Mapper(source_id, tuple(fields), ids, occurred, zone, future, flatten, polisher(source, settings))


def compiled(expression: str, key: str, faults: list[Fault]) -> Path:
    try:
        return path(expression, key)
    except ConfigError as error:
        faults.extend(error.faults)
        return lambda _: MISSING


def zone_of(source_id: str, source: Source, faults: list[Fault]) -> tzinfo:
    try:
        return ZoneInfo(source.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        key = f"sources.{source_id}.timezone"
        faults.append(
            Fault(f"there is no time zone {source.timezone!r}", 'Write it as "Europe/Berlin" or "UTC".', key=key)
        )
        return UTC


def constant_of(source_id: str, source: Source, name: str, read: Reader, faults: list[Fault]) -> FieldValue:
    try:
        return read(source.constants.get(name))[0]
    except NotTaken as error:
        key = f"sources.{source_id}.constants.{name}"
        faults.append(
            Fault(f"the constant does not fit the field: {error}", "Write a value of the field's type.", key=key)
        )
        return None


def first_of_list(raw: object) -> tuple[FieldValue, str | None]:
    """Of several addresses or numbers in a list, the first that is there; a lead has one."""
    if not isinstance(raw, list):
        return cut(exact(raw))
    found = [text for text in map(exact, raw) if text]
    value, mark = cut(found[0] if found else None)
    return value, "several, the first taken" if found[1:] else mark


def polisher(source: Source, settings: Settings) -> Callable[[dict[str, FieldValue], list[str]], None]:
    """E-mail, country and phone in their one form each; in this order, since a number needs its country."""
    region = source.phone_region.upper() if source.phone_region else None
    return partial(polish, read=address_reader(settings.organisation, settings.routing), region=region)


def polish(values: dict[str, FieldValue], marks: list[str], *, read: AddressReader, region: str | None) -> None:
    address = values.get("email")
    if isinstance(address, str):
        facts = read(address)
        if facts.shown:
            values["email"] = facts.shown
        else:
            del values["email"]
        if facts.mark:
            marks.append(f"email: {facts.mark}")
    place = values.get("country")
    if isinstance(place, str):
        values["country"] = place = country(place)
    number = values.get("phone")
    if isinstance(number, str):
        home = place if isinstance(place, str) and is_region(place) else None
        values["phone"], mark = phone(number, home, region)
        if mark:
            marks.append(f"phone: {mark}")


def article(payload: object) -> str:
    names = {str: "a text", list: "a list", bool: "true or false", type(None): "null"}
    return names.get(type(payload), "a number")


def nothing_found(source_id: str, flat: Mapping[str, object], marks: list[str]) -> str:
    there = ", ".join(str(name)[:40] for name in list(flat)[:12]) or "nothing"
    odd = f" Found but not taken: {'; '.join(marks[:3])}." if marks else ""
    return (
        f"None of the fields and ids mapped by sources.{source_id} has a value in this event; it holds: {there}.{odd}"
    )
