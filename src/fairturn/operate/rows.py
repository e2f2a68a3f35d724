"""Leads in a file, read as a source of the settings would read them, or by their headings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson

from fairturn.config import Source, Unsigned
from fairturn.decide.mapping import Mapped, Mapper, compile_mapper
from fairturn.errors import ConfigError, Fault, MappingProblem, NotFound
from fairturn.flow.plan import Plan
from fairturn.operate.headings import lead_fields
from fairturn.operate.init import jmespath_name
from fairturn.operate.sheets import read_sheet

LOOK = 50  # rows by which the way of reading is chosen
LONGEST = 512 * 1_048_576


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the file that is a lead, or why it is none."""

    number: int  # 1 = the first lead
    source: str  # as rules see it
    mapped: Mapped | None
    problem: str | None = None


def read_rows(path: Path, plan: Plan, source: str | None, now: datetime) -> list[Row]:
    """Raises ConfigError for a file that cannot be read, NotFound for an unknown source.

    Without `source`, the way that finds more in the first rows: the mapping of the only source, or the headings.
    """
    payloads = read_payloads(path)
    if source is not None and source not in plan.mappers:
        raise NotFound("source", source, tuple(plan.mappers))
    starting = [name for name, row in plan.settings.sources.items() if row.starts]
    name = source or (starting[0] if len(starting) == 1 else "file")
    mapper = plan.mappers[name] if source else _best(payloads, plan, starting, now)
    rows = [_row(number, name, mapper, payload, now) for number, payload in enumerate(payloads, 1)]
    if source is None and rows and not any(row.mapped for row in rows):
        raise _refused(path, "no column of it is known as a field of a lead", _remedy(payloads, plan))
    return rows


def _remedy(payloads: Sequence[object], plan: Plan) -> str:
    names = dict.fromkeys(str(name) for payload in payloads[:LOOK] if isinstance(payload, Mapping) for name in payload)
    there = ", ".join(list(names)[:20]) or "none"
    sources = " or ".join(f"--source {one}" for one in plan.settings.sources)
    return f"It has: {there}. Call the address's Email, or read it as what a source is sent: {sources}"


def read_payloads(path: Path) -> list[object]:
    """CSV rows as objects of texts; of .jsonl and .ndjson one JSON value a line; of .json a list, or one object."""
    kind = path.suffix.lower()
    if kind not in {".jsonl", ".ndjson", ".json"}:
        return [dict(row) for row in read_sheet(path).rows]
    try:
        if path.stat().st_size > LONGEST:
            raise _refused(path, "the file is larger than 512 MiB", "Split it")
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except FileNotFoundError:
        raise _refused(path, "there is no such file", "Correct the path") from None
    except OSError as error:
        raise _refused(path, f"the file cannot be read ({error.strerror})", "Name one that you may read") from None
    if kind == ".json":
        found = _json(path, 1, data)
        return list(found) if isinstance(found, list) else [found]
    return [_json(path, number, line) for number, line in enumerate(data.splitlines(), 1) if line.strip()]


def _json(path: Path, number: int, text: bytes) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _refused(path, f"this is no JSON ({error.msg})", "Write one JSON object a line", number) from None


def _refused(path: Path, message: str, remedy: str, line: int | None = None) -> ConfigError:
    return ConfigError((Fault(message, remedy, str(path), line),))


def _best(payloads: Sequence[object], plan: Plan, starting: Sequence[str], now: datetime) -> Mapper:
    ways = [by_headings(payloads, plan)]
    if len(starting) == 1:
        ways.append(plan.mappers[starting[0]])

    def found(mapper: Mapper) -> int:
        rows = [_row(0, "", mapper, payload, now).mapped for payload in payloads[:LOOK]]
        return sum(len(mapped.values) + len(mapped.ids) for mapped in rows if mapped)

    return max(ways, key=found)


def by_headings(payloads: Sequence[object], plan: Plan) -> Mapper:
    """Lead fields by what columns of exports are usually called, and by their own names."""
    names: dict[str, None] = {}
    for payload in payloads[:LOOK]:
        if isinstance(payload, Mapping):
            names |= dict.fromkeys(map(str, payload))
    ways: dict[str, str | tuple[str, ...]] = {
        field: jmespath_name(heading) for field, heading in lead_fields(names).items()
    }
    ways |= {name: json.dumps(name) for name in names if name in plan.settings.fields}
    return compile_mapper("file", Source(verify=Unsigned(), map=ways), plan.settings)


def _row(number: int, source: str, mapper: Mapper, payload: object, now: datetime) -> Row:
    try:
        return Row(number, source, mapper(payload, now))
    except MappingProblem as problem:
        return Row(number, source, None, str(problem))
