"""Values as HubSpot takes them: text in, text kept, and the words for what it does not take."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from crmsim.hubspot.properties import ObjectType, Property
from crmsim.hubspot.switches import Switches
from crmsim.hubspot.tlds import KNOWN

LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
LONG = re.compile(r"-?\d{1,18}")
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Invalid:
    """One value that was refused, as it stands inside `message` and in `errors`."""

    message: str
    error: str
    name: str

    def inside(self) -> dict[str, Any]:
        return {"isValid": False, "message": self.message, "error": self.error, "name": self.name}

    def outside(self) -> dict[str, Any]:
        return {"message": self.message, "code": self.error, "context": {"propertyName": [self.name]}}


class Owners(Protocol):
    """What the check of an owner needs of the account."""

    def owner_state(self, owner_id: str) -> str:
        """`active`, `archived` or `unknown`."""


class Malformed(ValueError):
    """A value that no property can hold: the whole request is no JSON of HubSpot's."""


def instant(wall: float) -> str:
    """Java's Instant.toString: three digits, none when they are zero (seen in recorded answers)."""
    return millis_text(int(wall * 1000))


def millis_text(millis: int) -> str:
    moment = datetime.fromtimestamp(millis // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{millis % 1000:03d}Z" if millis % 1000 else f"{moment}Z"


def text_of(value: Any) -> str:
    """A JSON scalar as text; null is the empty text, which clears. Raises Malformed for arrays and objects."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if not isinstance(value, str):
        token = "START_ARRAY" if isinstance(value, list) else "START_OBJECT"
        kind = "Array" if isinstance(value, list) else "Object"
        raise Malformed(
            f"Cannot deserialize value of type `java.lang.String` from {kind} value (token `JsonToken.{token}`)"
        )
    return value


def fold(kind: ObjectType, name: str, value: str) -> str:
    """The form in which unique values are compared: e-mails without case; text keys of an account with it."""
    return value.strip().lower() if kind.is_email(name) else value.strip()


def email_is_good(value: str, switches: Switches) -> bool:
    local, at, domain = value.rpartition("@")
    labels = domain.split(".")
    shaped = bool(at) and len(local) <= 64 and LOCAL.fullmatch(local) and len(labels) > 1
    if not shaped or not all(LABEL.fullmatch(label) for label in labels):
        return False
    return not switches.tld_check or labels[-1] in KNOWN or labels[-1] in switches.extra_tlds.split()


def check(
    kind: ObjectType, given: Mapping[str, Any], owners: Owners, switches: Switches
) -> tuple[dict[str, str], list[Invalid]]:
    """The values as they would be kept ("" clears) and what is wrong with them. Raises Malformed."""
    clean: dict[str, str] = {}
    wrong: list[Invalid] = []
    for name, raw in given.items():
        value = text_of(raw)
        item = kind.properties.get(name)
        if item is None:
            wrong.append(Invalid(f'Property "{name}" does not exist', "PROPERTY_DOESNT_EXIST", name))
        elif item.read_only:
            wrong.append(
                Invalid(f'"{name}" is a calculated property; its value cannot be set.', "READ_ONLY_VALUE", name)
            )
        else:
            kept, refusal = _one(kind, item, value, owners, switches)
            clean[name] = kept
            if refusal is not None:
                wrong.append(refusal)
    return clean, wrong


def _one(
    kind: ObjectType, item: Property, value: str, owners: Owners, switches: Switches
) -> tuple[str, Invalid | None]:
    if not value.strip():
        return "", None
    if kind.is_email(item.name):
        folded = value.strip().lower()
        good = email_is_good(folded, switches)
        return folded, None if good else Invalid(f"Email address {value} is invalid", "INVALID_EMAIL", item.name)
    if item.name == "hs_additional_emails":
        return ";".join(part.strip().lower() for part in value.split(";") if part.strip()), None
    if item.is_owner:
        return value.strip(), _owner(item, value.strip(), owners, switches)
    return _typed(item, value)


def _owner(item: Property, value: str, owners: Owners, switches: Switches) -> Invalid | None:
    refused = {"archived": ("unknown", "archived"), "unknown": ("unknown",), "off": ()}[switches.owner_check]
    if owners.owner_state(value) in refused:
        return Invalid(switches.owner_text.format(value=value), switches.owner_code, item.name)
    return None


def _typed(item: Property, value: str) -> tuple[str, Invalid | None]:
    """By the property's type; the texts are those of recorded refusals."""
    long = Invalid(f"{value} was not a valid long.", "INVALID_LONG", item.name)
    if item.kind == "number":
        return value.strip(), None if NUMBER.fullmatch(value.strip()) else long
    if item.kind in ("datetime", "date"):
        return _moment(item, value.strip(), long)
    if item.kind in ("enumeration", "bool"):
        values = [option for _, option in item.options] or ["true", "false"]
        several = item.field_type == "checkbox"
        chosen = [part.strip() for part in value.split(";")] if several else [value.strip()]
        bad = [part for part in chosen if part not in values]
        if bad:
            return value, Invalid(_no_option(item, bad[0]), "INVALID_OPTION", item.name)
        return ";".join(chosen), None
    return value, None


def _no_option(item: Property, value: str) -> str:
    """The list is that of a protobuf's text form, line ends and all."""
    shown = ", ".join(
        f'label: "{label}"\nvalue: "{option}"\ndisplay_order: {place}\nhidden: false\nread_only: false\n'
        for place, (label, option) in enumerate(item.options)
    )
    return f"{value} was not one of the allowed options: [{shown}]"


def _moment(item: Property, value: str, long: Invalid) -> tuple[str, Invalid | None]:
    """ISO 8601 or milliseconds; kept as ISO. A date must be midnight UTC."""
    if LONG.fullmatch(value):
        millis = int(value)
    else:
        try:
            parsed = datetime.fromisoformat(value)
        except ValueError:
            return value, long
        zoned = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
        millis = round(zoned.timestamp() * 1000)
    if abs(millis) > 253_402_300_799_000:  # the year 9999
        return value, long
    if item.kind == "datetime":
        return millis_text(millis), None
    text = millis_text(millis)
    if millis % DAY_MS:
        return value, Invalid(f"{value} is at {text[11:-1]} UTC, not midnight!", "INVALID_DATE", item.name)
    return text[:10], None


def is_backward(item: Property, current: str | None, wanted: str) -> bool:
    """Whether a lifecycle stage would go back. Stages that are not of the list have no order."""
    order = [value for _, value in item.options]
    return current in order and wanted in order and order.index(wanted) < order.index(current)
