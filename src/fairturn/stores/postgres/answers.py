"""What a CRM answered, as rows that PostgreSQL can hold."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from fairturn.model import Answer, Done, Later, Outcome, Outgoing, Refused, RetryAt, Unknown, Verdict, Written

LONGEST = 2000  # characters of the CRM's words that are kept
VERDICT_COLUMNS, OUTCOME_COLUMNS = 17, 10


def kept(words: str) -> str:
    """A destination's words as PostgreSQL can hold them: no NUL, no half of a surrogate pair, not too many."""
    return clean(words[:LONGEST])


def clean(words: str) -> str:
    return words.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def text(record: Mapping[str, object] | None) -> str | None:
    """As JSON that jsonb takes."""
    return None if record is None else orjson.dumps(storable(record)).decode()


def storable(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(name)): storable(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [storable(one) for one in value]
    return value


def verdict_row(verdict: Verdict, record: Outgoing, answer: Answer) -> tuple[object, ...]:
    """(lead, kind, after, counts, code, message, record_id, record, anew, ownerless, sent, type, found, owner, without,
    refused, stands)
    """
    if isinstance(verdict, Done):
        return _done(verdict, record, answer)
    head = ("retry", verdict.after, verdict.counts) if isinstance(verdict, RetryAt) else ("failed", 0.0, True)
    words = (kept(verdict.code), kept(verdict.message))
    return (verdict.lead, *head, *words, None, None, False, False, False, None, None, None, None, None, False)


def _done(verdict: Done, record: Outgoing, answer: Answer) -> tuple[object, ...]:
    key, owner = record.key, answer.owners.get(record.key)
    return (
        verdict.lead,
        "shadow" if key in answer.shadow else "done",
        0.0,
        False,
        None,
        None,
        kept(verdict.record_id),
        text(verdict.record),
        verdict.anew,
        # Made anew without an owner, it belongs to the integration's user.
        bool(verdict.anew and verdict.created and record.owner is None),
        key not in answer.same,
        verdict.object_type,
        text(answer.found.get(key)),
        None if owner is None else kept(owner),
        text({name: kept(words) for name, words in verdict.without.items()}),
        text(answer.refused.get(key)),
        verdict.owner_stands is not None,
    )


def outcome_row(record: Outgoing, outcome: Outcome | None, answer: Answer) -> tuple[object, ...]:
    """(lead, outcome, code, message, record_id, created, owner, record, without, owner_stands)"""
    stands = outcome.owner_stands if isinstance(outcome, Written) else None
    without = outcome.without if isinstance(outcome, Written) else None
    return (
        record.lead,
        *_outcome(outcome, same=record.key in answer.same, shadow=record.key in answer.shadow),
        record.owner if stands is None else None,
        text(answer.records.get(record.key)),
        text({name: kept(words) for name, words in without.items()}) if without else None,
        None if stands is None else kept(stands),
    )


def _outcome(outcome: Outcome | None, *, same: bool, shadow: bool) -> tuple[object, ...]:
    """(outcome, code, message, record_id, created)"""
    if shadow:
        return ("shadow", None, None, None, None)
    match outcome:
        case Written():
            return ("same" if same else "written", None, None, kept(outcome.record_id), outcome.created)
        case Refused():
            return ("refused", kept(outcome.code), kept(outcome.message), None, None)
        case Later():
            return ("later", kept(outcome.code), kept(outcome.message), None, None)
        case Unknown():
            return ("unknown", None, kept(outcome.message), None, None)
        case None:
            return ("unknown", None, "the CRM did not mention this record", None, None)


def problem_of(answer: Answer) -> str | None:
    """The sentence about the request as a whole, if it failed as one."""
    for outcome in answer.outcomes:
        if isinstance(outcome, Later) and outcome.scope == "destination":
            return kept(f"{outcome.code}: {outcome.message}")
    return None
