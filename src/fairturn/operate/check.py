"""What the settings mean together: names that lead nowhere, rules that no lead reaches, pools that cannot turn.

Every finding has its line and says what to write instead. Nothing here asks the network or the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from fairturn.errors import Fault
from fairturn.operate import check_destinations, check_journal, check_people, check_rules, check_sources
from fairturn.operate.loaded import Loaded
from fairturn.operate.secrets import judge_references


def judge(loaded: Loaded, formats: Collection[str] = ()) -> tuple[Fault, ...]:
    """Every fault and warning, in the order of the file. `formats`: those that sources may name; none = not judged."""
    found = [
        *judge_characters(loaded),
        *judge_references(loaded),
        *check_people.judge(loaded),
        *check_sources.judge(loaded, formats),
        *check_rules.judge(loaded),
        *check_destinations.judge(loaded),
        *check_journal.judge(loaded),
    ]
    return tuple(sorted(found, key=lambda fault: (fault.line or 0, fault.key or "")))


def judge_characters(loaded: Loaded) -> Iterator[Fault]:
    # TOML can write one as an escape; PostgreSQL keeps the settings in force as jsonb, which refuses it.
    if "\\u0000" in loaded.settings.model_dump_json():
        yield loaded.fault(
            "", "a text holds the NUL character", "Take the \\u0000 out; no CRM and no database keeps it"
        )
