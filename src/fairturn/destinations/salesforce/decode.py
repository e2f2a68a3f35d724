"""What Salesforce's answer says of each record. By code and message, never by the HTTP status alone.

Three shapes: rows of a collection say `statusCode`, errors of a request `errorCode`, the token endpoint `error`.
https://developer.salesforce.com/docs/platform/api-rest/guide/errorcodes.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

import orjson

from fairturn.destinations.http import Reply, retry_after
from fairturn.destinations.salesforce.ids import answered_id, same_id
from fairturn.destinations.salesforce.limits import DAILY, PERSON, limit_pause, overloads
from fairturn.model import Later, Outcome, Outgoing, Refused, Unknown, Written

LOCK = "UNABLE_TO_LOCK_ROW"
NO_PARENT = "Foreign key external ID"
OWNER_CODES = ("INACTIVE_OWNER_OR_USER", "INVALID_CROSS_REFERENCE_KEY", "MALFORMED_ID")
AGAIN = ("ALL_OR_NONE_OPERATION_ROLLED_BACK", "PROCESSING_HALTED", "UNKNOWN_EXCEPTION", "SERVER_UNAVAILABLE")
# Not this record's fault, and mended by a person: the whole destination waits, nothing fails.
ORG_CODES = {"STORAGE_LIMIT_EXCEEDED": DAILY, "API_DISABLED_FOR_ORG": PERSON, "INVALID_AUTH_HEADER": PERSON}


@dataclass(frozen=True, slots=True)
class Problem:
    """One error, of a row or of a request."""

    code: str
    message: str
    fields: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()  # records that a duplicate rule names

    @property
    def words(self) -> str:
        """The CRM's message, with the fields and records it names elsewhere."""
        named = [name for name in (*self.fields, *self.matches) if name not in self.message]
        return f"{self.message} [{', '.join(named)}]" if named else self.message


@dataclass(frozen=True, slots=True)
class Reading:
    """`rows`: an outcome per record. `expired`: log in again. `split`: one record spoils the request for all."""

    kind: Literal["rows", "expired", "split"]
    outcomes: tuple[Outcome, ...] = ()
    problems: tuple[tuple[Problem, ...], ...] = ()  # of each record; () = none


def read(reply: Reply, sent: Sequence[Outgoing]) -> Reading:
    """The answer to a write of `sent`, each with the id by which it was written, if it was. Never raises."""
    body = _json(reply.body)
    if reply.status == 200:
        return Reading("rows", _rows(body, sent), _row_problems(body, sent))
    if reply.status == 0:
        return Reading("rows", tuple(Unknown(record.key, "the answer does not mention this part") for record in sent))
    problems = problems_of(body)
    first = problems[0] if problems else Problem(f"HTTP_{reply.status}", f"HTTP {reply.status} without a reason")
    everyones = ((first,),) * len(sent)
    if reply.status == 401 or first.code == "INVALID_SESSION_ID":
        return Reading("expired", _all(sent, Later("", None, "destination", first.code, first.words)), everyones)
    if reply.status == 400 and len(sent) > 1 and not _is_transient(first):
        return Reading("split", _all(sent, Later("", None, "record", first.code, first.words)), everyones)
    after = retry_after(reply.headers)
    return Reading("rows", tuple(_of_request(reply.status, first, record, after) for record in sent), everyones)


def overloaded(problems: Sequence[Problem]) -> bool:
    return any(overloads(problem.code, problem.message) for problem in problems)


def _of_request(status: int, problem: Problem, record: Outgoing, after: float | None) -> Outcome:
    """The whole request was refused. What may have been carried out all the same is unknown, not later."""
    code, words = problem.code, problem.words
    if code == "REQUEST_LIMIT_EXCEEDED":
        return Later(record.key, limit_pause(problem.message), "destination", code, words)
    if _is_lock(problem) or code in ORG_CODES:
        return of_row((problem,), record)
    if code == "SERVER_UNAVAILABLE" or status in (420, 429, 503):
        return Later(record.key, after, "destination", code, words)
    if status in (400, 403):
        refused = of_row((problem,), record)
        # Rights may come back, and nothing says whose fault it is: counted, so that it ends (case 105).
        return Later(record.key, None, "record", code, words) if status == 403 else refused
    if status >= 500:
        return Unknown(record.key, f"{code}: {words}")
    return Later(record.key, 60.0, "destination", code, words)  # 404, 405, 410, 3xx: the settings point elsewhere


def _rows(body: Any, sent: Sequence[Outgoing]) -> tuple[Outcome, ...]:
    """Rows come in the order of the request. If there are more than were sent, no order can be relied on."""
    if not isinstance(body, list) or len(body) > len(sent):
        return tuple(Unknown(record.key, "the answer is no list of the records sent") for record in sent)
    missing = [Unknown(record.key, "the answer does not mention this record") for record in sent[len(body) :]]
    known = {record.record_id[:15]: record.key for record in sent if record.record_id is not None}
    return (*(_row(row, record, known) for row, record in zip(body, sent, strict=False)), *missing)


def _row_problems(body: Any, sent: Sequence[Outgoing]) -> tuple[tuple[Problem, ...], ...]:
    rows = body if isinstance(body, list) and len(body) <= len(sent) else []
    found = [problems_of(row.get("errors")) if isinstance(row, dict) else () for row in rows]
    return (*found, *(() for _ in sent[len(found) :]))


def _row(row: Any, record: Outgoing, known: Mapping[str, str]) -> Outcome:
    """known: first 15 characters of an id -> key of the sent record that bears it.

    What is written by its id answers with that id. What is written by our key may answer with any, but a neighbour's.
    """
    if not isinstance(row, dict):
        return Unknown(record.key, "the record's row is no object")
    if row.get("success") is True:
        found = answered_id(row.get("id"))
        if found is None or known.get(found[:15], record.key) != record.key:
            return Unknown(record.key, "a row of success without the record's own id")
        if record.record_id is not None:
            if not same_id(found, record.record_id):
                return Unknown(record.key, "a row of success with the id of another record")
            return Written(record.key, record.record_id, created=False)
        created = row.get("created")
        return Written(record.key, found, created if isinstance(created, bool) else None)
    problems = problems_of(row.get("errors"))
    if row.get("success") is not False or not problems:
        return Unknown(record.key, "a row that says neither success nor why not")
    return of_row(problems, record)


def of_row(problems: Sequence[Problem], record: Outgoing) -> Outcome:
    """One record's errors: refused if any of them is for good, else later."""
    outcomes = [_judge(problem, record) for problem in problems]
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    if len(refused) < 2:
        return refused[0] if refused else outcomes[0]
    words = "; ".join(f"{outcome.code}: {outcome.message}" for outcome in refused)
    fields = tuple(name for outcome in refused for name in outcome.fields)
    return Refused(record.key, refused[0].code, words, fields, owner_fault=any(one.owner_fault for one in refused))


def _judge(problem: Problem, record: Outgoing) -> Outcome:
    code, words, key = problem.code, problem.words, record.key
    if code in ORG_CODES:
        return Later(key, ORG_CODES[code], "destination", code, words)
    if code == "REQUEST_LIMIT_EXCEEDED":
        return Later(key, limit_pause(problem.message), "destination", code, words)
    if _is_transient(problem):
        return Later(key, None, "record", code, words)
    if code == "DUPLICATE_VALUE":
        # Two upserts of one key met: the second try finds the record. The same key twice in a request: alone it passes.
        raced = "duplicates value on record" in problem.message and record.attempt == 1
        if raced or "Duplicate external id specified" in problem.message:
            return Later(key, None, "record", code, words)
    return Refused(key, code, words, problem.fields, owner_fault=_owner_fault(problem, record))


def _is_lock(problem: Problem) -> bool:
    return problem.code == LOCK or LOCK in problem.message


def _is_transient(problem: Problem) -> bool:
    return _is_lock(problem) or problem.code in AGAIN


def _owner_fault(problem: Problem, record: Outgoing) -> bool:
    """A rep who cannot own records. A queue that does not exist is a fault of the settings, and stays a refusal."""
    if record.owner is None or record.owner_kind != "rep" or problem.code not in OWNER_CODES:
        return False
    return problem.code == "INACTIVE_OWNER_OR_USER" or "OwnerId" in problem.fields or "owner" in problem.message.lower()


def lacks_parent(outcome: Outcome) -> bool:
    """The account that the record refers to may not be in the CRM. Of an id it says only that one of the record's is
    none of a record there: the account's or the owner's.
    """
    if not isinstance(outcome, Refused) or outcome.owner_fault:
        return False
    by_key = outcome.code == "INVALID_FIELD" and NO_PARENT in outcome.message
    return by_key or outcome.code in ("INVALID_CROSS_REFERENCE_KEY", "INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY")


def names_nobody(outcome: Outcome, record: Outgoing) -> TypeGuard[Refused]:
    """An id of the record, sent with a rep as its owner, is none of a record in the CRM."""
    rep = record.owner is not None and record.owner_kind == "rep"
    return rep and isinstance(outcome, Refused) and outcome.code == "INVALID_CROSS_REFERENCE_KEY"


def problems_of(body: Any) -> tuple[Problem, ...]:
    entries = body if isinstance(body, list) else [body]
    return tuple(_problem(entry) for entry in entries if isinstance(entry, dict) and _code(entry))


def _code(entry: dict[str, Any]) -> str:
    return str(entry.get("statusCode") or entry.get("errorCode") or entry.get("error") or "")


def _problem(entry: dict[str, Any]) -> Problem:
    fields = entry.get("fields")
    message = str(entry.get("message") or entry.get("error_description") or _code(entry))
    names = tuple(str(name) for name in fields) if isinstance(fields, list) else ()
    return Problem(_code(entry)[:100], message[:1000], names[:20], _matches(entry))


def _matches(entry: dict[str, Any]) -> tuple[str, ...]:
    """Ids of the records that a duplicate rule found. Salesforce itself misspells the key."""
    result = entry.get("duplicateResut") or entry.get("duplicateResult")
    found: list[str] = []
    for match in _list(result, "matchResults"):
        for row in _list(match, "matchRecords"):
            record = row.get("record") if isinstance(row, dict) else None
            if isinstance(record, dict) and isinstance(record.get("Id"), str):
                found.append(record["Id"])
    return tuple(found[:5])


def _list(of: Any, key: str) -> list[Any]:
    found = of.get(key) if isinstance(of, dict) else None
    return found if isinstance(found, list) else []


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _all(sent: Sequence[Outgoing], outcome: Later) -> tuple[Outcome, ...]:
    return tuple(Later(record.key, outcome.after, outcome.scope, outcome.code, outcome.message) for record in sent)
