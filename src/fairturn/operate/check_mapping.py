"""What the maps of a destination say: where the value of each field of a record comes from, and when it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fairturn.config import DERIVED_FIELDS, Destination, MapTo
from fairturn.decide.complaints import closest
from fairturn.errors import Fault
from fairturn.operate.check_sources import known_fields
from fairturn.operate.loaded import Loaded

WAYS: Final = ("field", "value", "assignment", "record_type")
ONE_OF: Final = (
    'Write one of { field = "company" }, { value = "Web" }, { assignment = "rule" }, { record_type = "Inbound" }'
)
RECORD_TYPE: Final = "RecordTypeId"


def judge(loaded: Loaded, key: str, destination: Destination) -> Iterator[Fault]:
    parts: Mapping[str, Mapping[str, str | MapTo]] = {"map": destination.map, "contact_map": destination.contact_map}
    for part, mapping in parts.items():
        for target, way in mapping.items():
            place = f"{key}.{part}.{target}"
            meant = MapTo(field=way) if isinstance(way, str) else way
            yield from judge_way(loaded, place, target, meant)
            stages = destination.type == "hubspot" and target == "lifecyclestage"  # HubSpot's own have their order
            yield from judge_mode(loaded, place, target, meant, ordered=stages)
            yield from judge_record_type(loaded, place, target, meant, destination)


def judge_way(loaded: Loaded, place: str, target: str, way: MapTo) -> Iterator[Fault]:
    fields = {**known_fields(loaded.settings), **DERIVED_FIELDS}
    named = [name for name in WAYS if getattr(way, name) is not None]
    if not named:
        yield loaded.fault(place, f"nothing says where {target} gets its value", ONE_OF)
    elif len(named) > 1:
        yield loaded.fault(place, f"{target} has both a {named[0]} and a {named[1]}", ONE_OF)
    if way.field is not None and way.field not in fields:
        remedy = closest(way.field, fields, "Fields are")
        yield loaded.fault(place, f'there is no lead field "{way.field}"', remedy)
    if way.default is not None and way.field is None and named:
        message = f"the default of {target} is never used: it stands in for a lead field without a value"
        yield loaded.warning(f"{place}.default", message, "Take it out")


def judge_mode(loaded: Loaded, place: str, target: str, way: MapTo, *, ordered: bool) -> Iterator[Fault]:
    steps = [step.strip().casefold() for step in way.order]
    if way.mode == "forward" and len(set(steps)) < 2 and (steps or not ordered):
        remedy = 'Write the steps from first to last: order = ["New", "Working", "Qualified"]'
        yield loaded.fault(place, f"{target} only moves forward, and order does not say along which steps", remedy)
    elif way.mode != "forward" and way.order:
        yield loaded.fault(
            f"{place}.order",
            f"{target} has an order and does not move along it",
            'Add mode = "forward", or take it out',
        )
    for number, step in enumerate(steps, 1):
        if not step:
            yield loaded.fault(f"{place}.order.{number}", "a step is empty", "Take it out")
        elif step in steps[: number - 1]:
            message = f'"{way.order[number - 1]}" stands twice in the order'
            yield loaded.fault(f"{place}.order.{number}", message, "Keep the place where it belongs")
    if way.mode == "forward" and steps and isinstance(way.value, str) and way.value.casefold() not in steps:
        message = f'"{way.value}" is no step of the order, so {target} would never be written on a record that is there'
        yield loaded.fault(f"{place}.value", message, "Add it to the order, or write one of its steps")
    if way.mode == "never_unset" and (kind := kind_of(loaded, way)) not in {None, "boolean"}:
        message = f"never_unset keeps a true from becoming false, and {target} is given {kind}"
        yield loaded.fault(f"{place}.mode", message, 'Map a true or false field, or write mode = "if_empty"')


def kind_of(loaded: Loaded, way: MapTo) -> str | None:
    """What the field is given; None: not known, and told elsewhere."""
    if way.field is not None:
        return {**known_fields(loaded.settings), **DERIVED_FIELDS}.get(way.field)
    if way.value is not None:
        return "boolean" if isinstance(way.value, bool) else "a constant"
    return "text" if way.assignment is not None else None


def judge_record_type(loaded: Loaded, place: str, target: str, way: MapTo, destination: Destination) -> Iterator[Fault]:
    if way.record_type is None:
        return
    if destination.type == "hubspot":
        yield loaded.fault(place, "HubSpot has no record types", 'Write { value = "..." } or { field = "..." }')
    elif not way.record_type.strip():
        yield loaded.fault(place, "the record type is empty", 'Write its name: { record_type = "Inbound" }')
    elif destination.type == "salesforce" and target != RECORD_TYPE:
        message = f"a record type is written into {RECORD_TYPE}, not into {target}"
        yield loaded.fault(place, message, f'Write {RECORD_TYPE} = {{ record_type = "{way.record_type}" }}')
