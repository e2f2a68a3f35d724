"""A destination that prints: what a config does, without a CRM."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

import orjson

from fairturn.config import MapTo
from fairturn.model import Answer, Batch, LookUp, Outgoing, Refused, Written

CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), 127, *range(128, 160))}


class Console:
    """Implements ports.Destination. One line per record; a line counts as written."""

    def __init__(self, name: str, fields: Mapping[str, str | MapTo], out: TextIO | None = None) -> None:
        self._name = name
        self._fields = {target: MapTo(field=way) if isinstance(way, str) else way for target, way in fields.items()}
        self._out = out

    async def look_up(self, emails: Sequence[str], seconds: float) -> LookUp:  # noqa: ARG002  # the port names them
        """Knows nobody."""
        return LookUp((), calls=0)

    async def org(self) -> None:
        return None

    async def close(self) -> None:
        """Nothing to close."""

    def draft(self, records: Sequence[Outgoing]) -> Mapping[str, Mapping[str, object] | Refused]:
        return {record.key: self._record(record) for record in records}

    async def write(self, batch: Batch) -> Answer:
        drafts = {record.key: self._record(record) for record in batch.records}
        out = self._out or sys.stdout
        for record in batch.records:
            print(line(self._name, record, drafts[record.key]), file=out, flush=True)
        return Answer(
            outcomes=tuple(Written(record.key, record.key, record.record_id is None) for record in batch.records),
            records=drafts,
        )

    def _record(self, record: Outgoing) -> Mapping[str, object]:
        """Without a mapping: the lead's fields under their own names."""
        ways = self._fields or {name: MapTo(field=name) for name in record.fields}
        found: dict[str, object] = {}
        for target, way in ways.items():
            if way.assignment is not None:
                found[target] = record.assignment.get(way.assignment)
                continue
            value = way.value if way.value is not None else record.fields.get(way.field or "", way.default)
            value = way.record_type if value is None else value
            if value is not None or way.field in record.fields:
                found[target] = way.default if value is None else value
        return found | ({"owner": record.owner} if record.owner else {})


def line(name: str, record: Outgoing, draft: Mapping[str, object]) -> str:
    """crm: new lead 17 (ft-...) for ann: {"email": "jane@acme.com"}. Control characters are shown, not obeyed."""
    verb = "new" if record.record_id is None else "change of"
    owner = f" for {record.owner}" if record.owner else ""
    body = orjson.dumps({key: value for key, value in draft.items() if key != "owner"}).decode()
    return f"{name}: {verb} lead {record.lead}{owner}: {body}".translate(CONTROL)
