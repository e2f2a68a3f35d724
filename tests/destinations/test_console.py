"""The destination that prints."""

import io
from dataclasses import replace
from datetime import UTC, datetime

from fairturn.config import MapTo
from fairturn.destinations.console import Console
from fairturn.model import Batch, Outgoing, Written

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
RECORD = Outgoing(17, 1, 1, "ft-1", None, {"email": "jane@acme.com"}, "ann", "rep", None, None, NOW, None)


async def test_one_readable_line_for_each_record():
    out = io.StringIO()
    changed = replace(RECORD, lead=18, key="ft-2", record_id="ft-2", owner=None)
    answer = await Console("crm", {"Email": "email"}, out).write(Batch(1, "crm", (RECORD, changed), NOW))
    assert out.getvalue().splitlines() == [
        'crm: new lead 17 for ann: {"Email":"jane@acme.com"}',
        'crm: change of lead 18: {"Email":"jane@acme.com"}',
    ]
    assert answer.outcomes == (Written("ft-1", "ft-1", True), Written("ft-2", "ft-2", False))
    assert answer.records["ft-1"] == {"Email": "jane@acme.com", "owner": "ann"}


async def test_without_a_mapping_the_fields_go_by_their_own_names():
    assert Console("crm", {}).draft([RECORD]) == {"ft-1": {"email": "jane@acme.com", "owner": "ann"}}


async def test_it_prints_what_the_assignment_was():
    ways: dict[str, str | MapTo] = {
        "Email": "email",
        "Rule": MapTo(assignment="rule"),
        "At": MapTo(assignment="assigned_at"),
        "Type": MapTo(record_type="Inbound"),
    }
    given = replace(RECORD, assignment={"rule": "smb", "assigned_at": None})
    assert Console("crm", ways).draft([given])["ft-1"] == {
        "Email": "jane@acme.com",
        "Rule": "smb",
        "At": None,
        "Type": "Inbound",
        "owner": "ann",
    }


async def test_it_prints_every_field_whatever_was_printed_before():
    """Guarding is for records that others write too."""
    ways = {"Email": MapTo(field="email", mode="create_only")}
    known = replace(RECORD, record_id="ft-1", confirmed={"Email": "jane@acme.com"}, found={"Email": "j@x.com"})
    assert Console("crm", ways).draft([known])["ft-1"] == {"Email": "jane@acme.com", "owner": "ann"}


async def test_a_name_cannot_move_the_cursor():
    out = io.StringIO()
    nasty = replace(RECORD, owner="\x1b[2J\n", fields={})
    await Console("crm", {}, out).write(Batch(1, "crm", (nasty,), NOW))
    assert "\x1b" not in out.getvalue()
    assert out.getvalue().count("\n") == 1
