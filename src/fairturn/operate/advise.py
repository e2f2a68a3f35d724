"""The measurements that travel with the program, as `advising` reads them.

advise_measured.json is written by `python -m bench page` from the committed results, and compared with them by a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from typing import Any

import orjson

from fairturn.decide.advice import Advice, Crowd, Measured, Question, Writing

FILE = "advise_measured.json"


def measured() -> Measured:
    return measured_of(orjson.loads(files(__package__).joinpath(FILE).read_bytes()))


def measured_of(told: Mapping[str, Any]) -> Measured:
    """Of the file's content; a part that was not measured is not in it."""
    return Measured(
        crowds=tuple(Crowd(**row) for row in told.get("crowds", ())),
        writings=tuple(Writing(**row) for row in told.get("writings", ())),
        assigned_per_second=told.get("assigned_per_second"),
        machine=told.get("machine", ""),
    )


def as_json(question: Question, advice: Advice) -> dict[str, object]:
    """The contract of --json: docs/explanation/lock-queue-or-batch.md."""
    return {
        "answer": advice.choice,
        "says": advice.says,
        "question": asdict(question),
        "under_way": {"usual": advice.usual, "worst_second": advice.at_once},
        "crm_calls_per_day": {"limit": question.crm_calls_per_day, **advice.calls},
        "reasons": [asdict(reason) for reason in advice.reasons],
        "fairturn": list(advice.fairturn),
        "not_measured": list(advice.not_measured),
    }
