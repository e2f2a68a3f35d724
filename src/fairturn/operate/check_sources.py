"""Sources: where a lead's fields come from, and what waits for what."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Iterator
from typing import Final

from fairturn.config import DERIVED_FIELDS, STANDARD_FIELDS, FieldType, Hmac, Settings, Source
from fairturn.decide.complaints import closest
from fairturn.decide.conditions import RESERVED
from fairturn.decide.paths import path
from fairturn.decide.signatures import compile_verifier
from fairturn.errors import ConfigError, Fault
from fairturn.operate.check_people import judge_zone
from fairturn.operate.loaded import Loaded

LONGEST_SYNC: Final = 25.0  # seconds; proxies and browsers hang up at 30 or 60
LONGEST_WAIT: Final = 86400.0


def judge(loaded: Loaded, formats: Collection[str] = ()) -> Iterator[Fault]:
    yield from judge_fields(loaded)
    for name, source in loaded.settings.sources.items():
        key = f"sources.{name}"
        yield from judge_map(loaded, key, source)
        yield from judge_paths(loaded, key, source)
        yield from judge_waiting(loaded, key, source)
        yield from judge_verify(loaded, key, source)
        if formats and source.format not in formats:
            message = f'there is no format "{source.format}"'
            yield loaded.fault(f"{key}.format", message, closest(source.format, formats, "Formats are"))
        yield from judge_zone(loaded, f"{key}.timezone", source.timezone)
        region = source.phone_region
        if region is not None and not (len(region) == 2 and region.isascii() and region.isalpha()):
            yield loaded.fault(
                f"{key}.phone_region", f'"{region}" is no country', 'Write two letters: "US", "DE", "NO"'
            )
    if not loaded.settings.sources:
        remedy = 'Add one: [sources.website] verify = { type = "shared_secret", secrets = ["env:WEBSITE_SECRET"] }'
        yield loaded.warning("", "there is no source, so no lead can come in", remedy)


def known_fields(settings: Settings) -> dict[str, FieldType]:
    """The fields that a mapping may set."""
    return {**STANDARD_FIELDS, **settings.fields}


def judge_fields(loaded: Loaded) -> Iterator[Fault]:
    for name in loaded.settings.fields:
        key = f"fields.{name}"
        if name in DERIVED_FIELDS:
            yield loaded.fault(key, f'"{name}" is worked out by Fairturn', "Give your field another name")
        elif name in STANDARD_FIELDS:
            kind = STANDARD_FIELDS[name]
            if loaded.settings.fields[name] != kind:
                message = f'every lead has "{name}" already, as {kind}'
                yield loaded.fault(key, message, "Take the line out, or give your field another name")
            else:
                yield loaded.warning(key, f'every lead has "{name}" already', "Take the line out")
        elif not name.isidentifier() or name in RESERVED or keyword.iskeyword(name):
            better = name.replace("-", "_") if name.replace("-", "_").isidentifier() else f"field_{name}"
            better = f"{better}_" if better == name else better
            remedy = f"Call it {better.replace('-', '_')}"
            yield loaded.fault(key, f'a rule could not name "{name}": lead.{name} would be read otherwise', remedy)


def judge_map(loaded: Loaded, key: str, source: Source) -> Iterator[Fault]:
    known = known_fields(loaded.settings)
    for part, names in (("map", source.map), ("constants", source.constants)):
        for field in names:
            yield from judge_field(loaded, f"{key}.{part}.{field}", field, known)
    for part, listed in (("clears", source.clears), ("wait_for", source.wait_for)):
        for number, field in enumerate(listed, 1):
            yield from judge_field(loaded, f"{key}.{part}.{number}", field, known)
    if source.format == "plain" and not source.map and not source.constants:
        remedy = 'Map at least the address: map = { email = "email", last_name = "name" }'
        yield loaded.fault(f"{key}.map", "nothing of what arrives is mapped to a lead's fields", remedy)


def judge_field(loaded: Loaded, key: str, field: str, known: dict[str, FieldType]) -> Iterator[Fault]:
    if field in DERIVED_FIELDS:
        yield loaded.fault(key, f'"{field}" is worked out by Fairturn, nothing may set it', "Map a field of your own")
    elif field not in known:
        remedy = f'{closest(field, known, "Fields are")}. A field of your own is declared: [fields] {field} = "text"'
        yield loaded.fault(key, f'there is no lead field "{field}"', remedy.replace("?.", "?"))


def judge_paths(loaded: Loaded, key: str, source: Source) -> Iterator[Fault]:
    for field, ways in source.map.items():
        if not ways:
            yield loaded.fault(f"{key}.map.{field}", "no path is named", 'Write where the value lies: "person.email"')
    for place, expression in expressions(key, source):
        if not expression.strip():
            yield loaded.fault(
                place, "the path is empty", "Name where the value lies in the payload, or take the line out"
            )
            continue
        try:
            path(expression, place)
        except ConfigError as error:
            for fault in error.faults:
                yield loaded.fault(place, fault.message, fault.remedy.rstrip("."))


def expressions(key: str, source: Source) -> Iterator[tuple[str, str]]:
    for field, ways in source.map.items():
        if isinstance(ways, str):
            yield f"{key}.map.{field}", ways
        else:
            for number, way in enumerate(ways, 1):
                yield f"{key}.map.{field}.{number}", way
    for name, way in source.ids.items():
        yield f"{key}.ids.{name}", way
    for part, single in (("dedupe", source.dedupe), ("occurred_at", source.occurred_at)):
        if single is not None:
            yield f"{key}.{part}", single


def judge_waiting(loaded: Loaded, key: str, source: Source) -> Iterator[Fault]:
    if source.lane == "sync":
        if not 0 < source.deadline <= LONGEST_SYNC:
            message = f"a caller who waits would wait {source.deadline:g} s"
            yield loaded.fault(
                f"{key}.deadline", message, 'Write between "0.1s" and "25s"; most callers hang up after 30 s'
            )
        if source.wait_for and source.at_most > source.deadline:
            message = f"the caller hears after {source.deadline:g} s, the lead waits {source.at_most:g} s for fields"
            yield loaded.warning(f"{key}.at_most", message, "Make at_most shorter than deadline")
        if not source.starts:
            message = "a caller who waits gets no owner from a source that starts no leads"
            yield loaded.warning(f"{key}.lane", message, 'Write lane = "batch", or starts = true')
    if source.at_most > LONGEST_WAIT:
        yield loaded.fault(
            f"{key}.at_most", "a lead would wait for its fields for more than a day", 'Write "30s" or "15m"'
        )


def judge_verify(loaded: Loaded, key: str, source: Source) -> Iterator[Fault]:
    verify = source.verify
    host = loaded.settings.server.host
    if verify.type == "unsigned" and host not in {"127.0.0.1", "::1", "localhost"}:
        message = f"anybody who reaches {host} may post leads here"
        remedy = 'Ask for a secret: verify = { type = "shared_secret", secrets = ["env:NAME"] }'
        yield loaded.warning(f"{key}.verify", message, remedy)
    try:
        # With a secret that would do: whether the real one is there is asked elsewhere, and not always.
        stand_in = f"{verify.key_prefix}QUJDREVGR0hJSktM" if isinstance(verify, Hmac) else "stand-in"
        compile_verifier(verify, (stand_in.encode(),))
    except ConfigError as error:
        for fault in error.faults:
            yield loaded.fault(f"{key}.{fault.key or 'verify'}", fault.message, fault.remedy.rstrip("."))
    if isinstance(verify, Hmac) and "{url}" in verify.signed and loaded.settings.server.public_url is None:
        message = "it signs the URL, and behind a proxy Fairturn does not know the one that was called"
        remedy = 'Write it: [server] public_url = "https://leads.acme.com"'
        yield loaded.warning(f"{key}.verify.signed", message, remedy)
