"""Pydantic's findings about the shape of the settings, as faults with a line, a plain sentence and a remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fairturn.config import Hmac, MapTo, Settings, SharedSecret, Unsigned
from fairturn.errors import Fault
from fairturn.operate.lines import Lines

VERIFIERS: Mapping[str, type[BaseModel]] = {"hmac": Hmac, "shared_secret": SharedSecret, "unsigned": Unsigned}
# What people write from memory of other tools -> the setting that they mean.
ALIASES = {
    "weight": "members", "weights": "members", "reps": "members", "users": "members",
    "if": "when", "condition": "when", "conditions": "when", "filter": "when", "match": "when",
    "then": "pool", "assign_to": "pool", "route_to": "pool", "team": "pool", "queue": "park", "skip": "ignore",
    "secret": "secrets", "token": "secrets", "mapping": "map", "fields": "map", "title": "name", "label": "name",
    "dedupe_key": "dedupe", "instance_url": "url", "domain": "url", "org_id": "org", "fallback_pool": "fallback",
    "salesforce_id": "ids", "crm_id": "ids", "user_id": "ids", "rep": "reps", "pool": "pools", "rule": "rules",
    "source": "sources", "destination": "destinations", "organization": "organisation", "org": "organisation",
    "redis_url": "valkey_url", "batch_window": "window", "batch_size": "max_records", "timeout": "request_timeout",
}  # fmt: skip
SECRET = {"secrets", "client_id", "client_secret", "database_url", "valkey_url"}
ROOMS = (  # where a setting may belong that stands elsewhere
    *(("organisation",), ("server",), ("routing",), ("retention",)),
    *(("sources", "*"), ("reps", "*"), ("pools", "*"), ("destinations", "*"), ("rules", "*")),
)
MISSING = {
    "verify": 'Say how a request proves itself: verify = { type = "hmac", header = "X-Signature", '
    'secrets = ["env:NAME"] }, or { type = "unsigned" } if anybody may post',
    "members": "Name who takes turns, with weights: members = { ann = 1, bob = 1 }",
    "name": 'Write the name that people read: name = "Ann Lee"',
    "id": 'Every rule has an id of its own, for the history: id = "big-deals"',
    "when": 'Write a condition, or when = "true" for every lead that comes this far',
    "type": 'Write type = "salesforce" or type = "console"',
    "secrets": 'Name it, several while rotating: secrets = ["env:NAME"]',
    "header": 'Name the header that carries the signature: header = "X-Signature"',
}


def shape_faults(error: ValidationError, raw: Mapping[str, Any], lines: Lines, file: str) -> tuple[Fault, ...]:
    """One fault per key: alternatives of a union complain several times about the same value."""
    located = [(finding, *locate(finding, raw)) for finding in error.errors(include_url=False)]
    keys = {key for _, key, _, _ in located}
    found: dict[str, Fault] = {}
    for finding, key, parts, value in located:
        if key in found or any(other.startswith(f"{key}.") for other in keys):
            continue  # the alternative that does not fit at all; what is said further in is meant
        message, remedy = sentence(finding, parts, value)
        found[key] = Fault(message, remedy, file, lines.of(key), key or None)
    return tuple(sorted(found.values(), key=lambda fault: fault.line or 0))


def locate(finding: ErrorDetails, raw: Any) -> tuple[str, tuple[str, ...], Any]:
    """The dotted key, its parts and the value, of a pydantic location. Names of union members in it are left out."""
    here, parts, loc = raw, [], finding["loc"]
    for place, part in enumerate(loc):
        if isinstance(here, Mapping) and part in here:
            here = here[part]
            parts.append(str(part))
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
            parts.append(str(part + 1))
        elif place == len(loc) - 1 and finding["type"] == "missing":
            parts.append(str(part))
            here = None
    return ".".join(parts), tuple(parts), here


def sentence(finding: ErrorDetails, parts: tuple[str, ...], value: Any) -> tuple[str, str]:
    kind, name = finding["type"], parts[-1] if parts else ""
    if finding["loc"] and finding["loc"][-1] == "[key]":
        return identifier(name)
    if len(parts) == 4 and parts[0] == "pools" and parts[2] == "members":
        return weight(name, value)
    if name == "when" and kind != "missing":
        return condition(value)
    if name == "members" and isinstance(value, list):
        pairs = ", ".join(f"{member} = 1" for member in value if isinstance(member, str)) or "ann = 1"
        return "members are a table of weights, not a list", f"Write members = {{ {pairs} }}"
    if said := absent_or_strange(kind, name, parts, value):
        return said
    if SECRET & {*parts}:  # a secret that stands here by mistake does not travel on in a message
        write = 'secrets = ["env:NAME"]' if "secrets" in parts else f'{name} = "env:NAME"'
        return "this is no name of a secret", f"Write {write}, and set that variable"
    return mistyped(finding, name, parts, value)


def absent_or_strange(kind: str, name: str, parts: tuple[str, ...], value: Any) -> tuple[str, str] | None:
    said = value.get("type") if isinstance(value, Mapping) else value
    match kind:
        case "extra_forbidden":
            return stranger(name, parts)
        case "missing":
            return f"{name} is missing", MISSING.get(name, f"Add {name} = ...")
        case "union_tag_not_found":
            return "it does not say which kind it is", MISSING["verify"]
        case "union_tag_invalid":
            return f"there is no way to verify called {shown(said)}", nearest(str(said), tuple(VERIFIERS))
        case "string_pattern_mismatch":
            return identifier(str(value))
        case "too_short" | "string_too_short":
            return f"{name} is empty", MISSING.get(name, f"Write something, or take {name} out")
    return None


def condition(value: Any) -> tuple[str, str]:
    """Empty is neither "all" nor "none" (case 120), whatever emptied it."""
    rest = 'Write when = "true" if the rule is for every lead, or take the rule out'
    if isinstance(value, str) and len(value) > 100:
        return f"the condition has {len(value):,} characters", "Split it into several rules; 4,000 are the most"
    if not value or (isinstance(value, str) and not value.strip()):
        return "the condition is empty", rest
    if value is True:
        return "a condition is text", 'Put it in quotes: when = "true"'
    return f"a condition is text, not {kind_of(value)}", 'Write when = "lead.employees >= 50", or when = "true"'


def mistyped(finding: ErrorDetails, name: str, parts: tuple[str, ...], value: Any) -> tuple[str, str]:
    kind, limits = finding["type"], finding.get("ctx", {})
    if kind == "value_error":
        longest = "at most" in finding["msg"]
        remedy = '"3650d" is the most' if longest else 'Write a number with its unit: "2s", "15m", "24h" or "30d"'
        return f"{shown(value)} is {'too long' if longest else 'no duration'}", remedy
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", str(limits.get("expected", "")))
        return f"there is no choice {shown(value)} here", nearest(str(value), choices)
    if kind in {"greater_than_equal", "less_than_equal"}:
        way = "at least" if kind.startswith("greater") else "at most"
        return f"{name} is {shown(value)}, which is out of range", f"Write {way} {next(iter(limits.values()), 1)}"
    return of_another_kind(kind, name, parts, value) or (
        f"{name} does not fit: {finding['msg'].lower()}",
        "Compare it with the example that fairturn init writes",
    )


def of_another_kind(kind: str, name: str, parts: tuple[str, ...], value: Any) -> tuple[str, str] | None:
    if kind == "string_type":
        return f"{name} is {kind_of(value)}, and text is wanted", f'Put it in quotes: {name} = "{plain(value)}"'
    if kind == "tuple_type" and isinstance(value, Mapping):
        return f"{name} stands in single brackets", f"Write [[{'.'.join(parts)}]], once for each of them"
    if kind == "tuple_type":
        entries = f'["{value}"]' if isinstance(value, str) else '["a", "b"]'
        return f"{name} is {kind_of(value)}, and a list is wanted", f"Write {name} = {entries}"
    if kind.startswith(("int_", "float_", "finite_")):
        return f"{name} is {shown(value)}, and a whole number is wanted", "Write digits only, without quotes"
    if kind.startswith("bool_"):
        return f"{name} is {shown(value)}, and true or false is wanted", "Write true or false, without quotes"
    if kind in {"model_type", "model_attributes_type", "dict_type"}:
        header = ".".join(parts) or "..."
        return f"{name} is {kind_of(value)}, and a table is wanted", f"Write it as a table of its own: [{header}]"
    return None


def weight(rep: str, value: Any) -> tuple[str, str]:
    message = f'the weight of rep "{rep}" is {shown(value)}'
    if isinstance(value, float) and 0 < value < 1:
        return message, "Weights are whole numbers from 0 to 10,000 and only their ratio counts: 1 and 2 for 0.5 and 1"
    if isinstance(value, str) and value.strip().isdigit():
        return message, f"Write it without quotes: {rep} = {value.strip()}"
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return message, "Weights are whole numbers up to 10,000 and only their ratio counts: divide them all"
    return message, "Weights are whole numbers from 0 to 10,000; 0 gets no leads"


def identifier(name: str) -> tuple[str, str]:
    small = re.sub(r"[^a-z0-9_-]+", "-", name.strip().lower()).strip("-_")[:63]
    if not name.strip():
        return "an id is empty", "Write a short name in small letters"
    return (
        f'"{name}" is no id: ids are small letters, digits, - and _, 63 at most',
        f'Write "{small or "an-id"}"; what people read is its name',
    )


def stranger(name: str, parts: tuple[str, ...]) -> tuple[str, str]:
    known = model_at(parts[:-1])
    near = get_close_matches(name.lower(), known, n=1, cutoff=0.7) or [
        alias for alias in [ALIASES.get(name.lower())] if alias in known
    ]
    place = f"[{'.'.join(parts[:-1])}]" if len(parts) > 1 else "the settings"
    if near:
        return f"there is no setting {name} in {place}", f"Did you mean {near[0]}?"
    home = next((room for room in ROOMS if name in model_at(room) and room[0] != parts[0]), None)
    if home is not None:
        inside = ".".join(("<id>" if part == "*" else part) for part in home)
        return f"there is no setting {name} in {place}", f"It belongs into [{inside}]"
    return f"there is no setting {name} in {place}", f"Known there: {', '.join(known)}"


def model_at(parts: Sequence[str]) -> tuple[str, ...]:
    """The settings that exist at a place."""
    if len(parts) >= 3 and parts[0] == "sources" and parts[2] == "verify":
        names = dict.fromkeys(field for model in VERIFIERS.values() for field in model.model_fields)
        return tuple(names)
    if len(parts) >= 3 and parts[0] == "destinations" and parts[2] == "map":
        return tuple(MapTo.model_fields)
    model: Any = Settings
    for part in parts:
        if isinstance(model, type) and issubclass(model, BaseModel) and part in model.model_fields:
            model = entry(model.model_fields[part].annotation)
    return tuple(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else ()


def entry(annotation: Any) -> Any:
    """The model that a field holds, one or many of."""
    inner = [argument for argument in get_args(annotation) if argument is not Ellipsis]
    return entry(inner[-1]) if inner else annotation


def nearest(said: str, known: Sequence[str]) -> str:
    near = get_close_matches(said.lower(), known, n=1)
    choices = ", ".join(f'"{choice}"' for choice in known)
    return f'Did you mean "{near[0]}"?' if near else f"Choose one of {choices}"


def shown(value: Any) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)[:40]


def kind_of(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {shown(value)}"
        case list():
            return "a list"
        case Mapping():
            return "a table"
        case None:
            return "missing"
    return f"the {type(value).__name__} {value}"
