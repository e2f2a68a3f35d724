"""What HubSpot's answer says of each record that was sent.

Results come in any order, addresses in lower case, and an error may name its input by trace id, by id or not at all: so
everything is matched by what it says, nothing by its place, and what nobody mentions is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from fairturn.destinations.http import Reply, retry_after
from fairturn.destinations.hubspot.limits import DAY, LOCKED, MIGRATION, PERSON, limit_pause
from fairturn.destinations.hubspot.problems import CONFLICT, GONE, TAKEN, Problem, problems_of
from fairturn.destinations.hubspot.rows import EMAIL, OWNER, Row, text
from fairturn.model import Later, Outcome, Refused, Unknown, Written

FINAL = ("VALIDATION", "INVALID", "NOT_FOUND", "DOESNT_EXIST", "CONFLICT")  # in a code: trying again does not help


@dataclass(frozen=True, slots=True)
class Shed:
    """Refused for these properties alone: property -> HubSpot's words."""

    fields: Mapping[str, str]
    lasting: frozenset[str]  # whatever the value
    dates: frozenset[str] = frozenset()  # of these, those that take a day without a time
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # ... that take one of these alone


@dataclass(frozen=True, slots=True)
class Clash:
    """The person is there already, under another record. existing: its id, where HubSpot says."""

    existing: str | None
    words: str


@dataclass(frozen=True, slots=True)
class Gone:
    """The record is not there any more."""

    words: str


Fate = Outcome | Shed | Clash | Gone


@dataclass(frozen=True, slots=True)
class Reading:
    """`fates` by key. `again`: keys to be sent once more as they are. `split`: the request was refused as a whole and
    nobody can tell for whom: rows without a fate travel apart; alone they have the fate.
    """

    fates: Mapping[str, Fate] = field(default_factory=dict)
    again: frozenset[str] = frozenset()
    split: Problem | None = None
    results: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # key -> the record as answered


def whole(reply: Reply) -> Later | Unknown | None:
    """What an answer says without regard to what was asked; None: it has to be read (2xx, 400, 409)."""
    status, body = reply.status, body_of(reply)
    if 200 <= status < 300 or status in (400, 409):
        return None if body is not None else Unknown("", f"HTTP {status} with a body that is no JSON object")
    first = problems_of(body)[0] if body else Problem(f"HTTP_{status}", f"HTTP {status} without a reason")
    code = first.code if first.code != "ERROR" else f"HTTP_{status}"
    if status == 403:
        return _forbidden(body or {}, code, first)
    after, words = 60.0, first.words  # 404, 405, 410, 3xx: the settings point elsewhere
    match status:
        case 429:
            policy = str((body or {}).get("policyName") or "")
            after, code = limit_pause(policy, first.message, reply.headers), policy or code
        case 401:
            after, words = PERSON, f"{words}. Check the destination's token"
        case 423:
            after = LOCKED
        case 477:
            after = retry_after(reply.headers, DAY) or MIGRATION
            words = f"the account is being migrated: {words}"
        case _ if status >= 500:
            wait = retry_after(reply.headers) if status == 503 else None
            if wait is None:
                return Unknown("", f"{code}: {words}")
            after = wait
    return Later(None, after, "destination", code, words)


def _forbidden(body: Mapping[str, Any], code: str, first: Problem) -> Later:
    """Scopes are given by a person. Another 403 names nobody's fault: counted, so that it ends (case 105)."""
    if code != "MISSING_SCOPES" and body.get("category") != "MISSING_SCOPES":
        return Later(None, None, "record" if body else "destination", code, first.words)
    scopes = sorted(scopes_of(body))
    named = f" Give the app: {', '.join(scopes)}" if scopes else " See the app's scopes in HubSpot"
    return Later(None, PERSON, "destination", "MISSING_SCOPES", f"the app was not granted all scopes it needs.{named}")


def scopes_of(body: Mapping[str, Any]) -> frozenset[str]:
    """Two shapes were seen: in the context of the body, in the one of its first error."""
    entries = [body, *_entries(body.get("errors"))]
    found: set[str] = set()
    for entry in entries:
        context = entry.get("context")
        for name in ("requiredGranularScopes", "requiredScopes"):
            scopes = context.get(name) if isinstance(context, dict) else None
            found |= {str(scope) for scope in scopes} if isinstance(scopes, list) else set()
    return frozenset(found)


def read(reply: Reply, sent: Sequence[Row], external_id: str) -> Reading:
    """The answer to a batch/update or batch/upsert of `sent`. Never raises."""
    said = whole(reply)
    if said is not None:
        return Reading({row.key: replace(said, key=row.key) for row in sent})
    body = body_of(reply) or {}
    if reply.status >= 300:
        return _refused(problems_of(body), reply.status, sent, external_id)
    return _batch(body, sent, external_id)


def _refused(problems: Sequence[Problem], status: int, sent: Sequence[Row], external_id: str) -> Reading:
    """400 and 409: nothing was written, for the fault of some."""
    first = problems[0]
    if (fault := _of_the_key(problems, sent, external_id)) is not None:
        return Reading({row.key: replace(fault, key=row.key) for row in sent})
    if len(sent) == 1:
        return Reading({sent[0].key: judge(problems, sent[0], external_id)})
    if status == 409 or first.code == CONFLICT:
        # Only the first of many is named, and not which input met it: their addresses are looked up.
        return Reading(split=first, fates={row.key: Clash(None, first.words) for row in sent if row.record_id is None})
    named = attributed(problems, sent)
    fates = {row.key: judge(named[row.key], row, external_id) for row in sent if row.key in named}
    if not fates:
        return Reading(split=first)
    return Reading(fates, again=frozenset(row.key for row in sent if row.key not in fates))


def _of_the_key(problems: Sequence[Problem], sent: Sequence[Row], external_id: str) -> Later | None:
    """Without the unique property nothing can be written, and a person has to make it: nobody's write fails for it."""
    for problem in problems:
        missing = problem.name == external_id and problem.lasting
        if missing or "by non-unique" in problem.message:
            if problem.name == EMAIL or not sent:
                continue
            remedy = f"Make the property {external_id} in HubSpot, unique (hasUniqueValue)"
            return Later(None, PERSON, "destination", "NO_UNIQUE_PROPERTY", f"{problem.message[:300]}. {remedy}")
    return None


def attributed(problems: Sequence[Problem], sent: Sequence[Row]) -> dict[str, tuple[Problem, ...]]:
    """Which rows a refused request speaks of: by id or trace id; else those whose value the message repeats."""
    found: dict[str, tuple[Problem, ...]] = {}
    for problem in problems:
        for row in _meant(problem, sent):
            found[row.key] = (*found.get(row.key, ()), problem)
    return found


def _meant(problem: Problem, sent: Sequence[Row]) -> list[Row]:
    if problem.traces:
        return [row for row in sent if row.key in problem.traces]
    if problem.message.startswith("Duplicate"):
        return []  # nobody's fault: apart they pass
    if problem.name is None:
        return [row for row in sent if row.record_id is not None and row.record_id in problem.ids]
    carriers = [row for row in sent if problem.name in row.record]
    if problem.lasting or len(carriers) == 1:
        return carriers
    # "Foo was not one of the allowed options: [...]": what follows repeats good values too.
    head = problem.message.partition(" was not one of")[0]
    lengths = {row.key: _repeated(text(row.record[problem.name]), head) for row in carriers}
    longest = max(lengths.values(), default=0)
    return [row for row in carriers if longest and lengths[row.key] == longest]


def _repeated(value: str, head: str) -> int:
    parts = [value, *value.split(";")]
    return max((len(part) for part in parts if part and part.casefold() in head.casefold()), default=0)


def _batch(body: Mapping[str, Any], sent: Sequence[Row], external_id: str) -> Reading:
    results: dict[str, Mapping[str, Any]] = {}
    twice: set[str] = set()
    for entry in _entries(body.get("results")):
        row = owner_of(entry, sent, external_id)
        if row is not None and row.key in results:
            twice.add(row.key)
        elif row is not None:
            results[row.key] = entry
    wrong: dict[str, tuple[Problem, ...]] = {}
    nameless: list[Problem] = []
    for error in _entries(body.get("errors")):
        problems = problems_of(error)
        keys = _concerned(problems, sent, external_id)
        nameless += [] if keys else problems
        for key in keys:
            wrong[key] = (*wrong.get(key, ()), *problems)
    return _sorted(sent, results, wrong, nameless, twice, external_id)


def _sorted(
    sent: Sequence[Row],
    results: Mapping[str, Mapping[str, Any]],
    wrong: Mapping[str, Sequence[Problem]],
    nameless: Sequence[Problem],
    twice: set[str],
    external_id: str,
) -> Reading:
    fates: dict[str, Fate] = {}
    left = [row for row in sent if row.key not in results and row.key not in wrong]
    for row in sent:
        if row.key in twice or (row.key in results and row.key in wrong):
            fates[row.key] = Unknown(row.key, "HubSpot says two things of this record")
        elif row.key in results:
            fates[row.key] = _written(results[row.key], row)
        elif row.key in wrong:
            fates[row.key] = judge(wrong[row.key], row, external_id)
    if nameless and len(left) == 1:
        fates[left[0].key] = judge(nameless, left[0], external_id)
    elif nameless and left:
        return Reading(fates, split=nameless[0], results=results)  # each of them has to be asked for apart
    else:
        # A silent 2xx has been seen. A record that was merged away may be passed over too: a retry looks for it.
        for row in left:
            words = "HubSpot does not mention this record in its answer"
            lost = row.record_id is not None and row.outgoing.attempt > 1
            fates[row.key] = Gone(words) if lost else Unknown(row.key, words)
    return Reading(fates, results=results)


def _written(entry: Mapping[str, Any], row: Row) -> Outcome:
    """The id of another record is true for an update: the one we knew was merged into it."""
    found = entry.get("id")
    if not isinstance(found, str | int) or not str(found).isdigit():
        return Unknown(row.key, "a record of success without its id")
    created = entry.get("new")
    if row.record_id is not None:
        created = False
    return Written(row.key, str(found), created if isinstance(created, bool) else None)


def owner_of(entry: Mapping[str, Any], sent: Sequence[Row], external_id: str) -> Row | None:
    """The row that a result is of: by trace id, record id, our key, address; never by its place."""
    trace = entry.get("objectWriteTraceId")
    if trace is not None:
        return next((row for row in sent if row.key == str(trace)), None)
    found = str(entry.get("id") or "")
    properties = entry.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    if found and (row := next((row for row in sent if row.record_id == found), None)):
        return row
    new = [row for row in sent if row.record_id is None]
    key = properties.get(external_id)
    if external_id != EMAIL and isinstance(key, str) and key:
        return next((row for row in new if row.key == key), None)
    email = properties.get(EMAIL)
    if isinstance(email, str) and email:
        return next((row for row in new if row.email == email.strip().casefold()), None)
    return None


def _concerned(problems: Sequence[Problem], sent: Sequence[Row], external_id: str) -> list[str]:
    traces = {trace for problem in problems for trace in problem.traces}
    ids = {one.casefold() for problem in problems for one in problem.ids}
    return [row.key for row in sent if row.key in traces or row.ident(external_id).casefold() in ids]


def judge(problems: Sequence[Problem], row: Row, external_id: str) -> Fate:
    """One record's errors."""
    first = problems[0]
    if any(GONE in (problem.code, problem.category) for problem in problems) and row.record_id is not None:
        return Gone(first.words)
    if row.record_id is None and (clash := next((one for one in problems if _clashes(one)), None)):
        return Clash(clash.existing, clash.words)
    if (fault := _of_the_key(problems, [row], external_id)) is not None:
        return replace(fault, key=row.key)
    if "RATE_LIMIT" in first.code:
        return Later(row.key, limit_pause("", first.message, {}), "destination", first.code, first.words)
    fields = {problem.name: problem.words for problem in problems if problem.name is not None}
    firm = {EMAIL, OWNER} | (set() if row.record_id and _taken(problems, external_id) else {external_id})
    if fields and len([one for one in problems if one.name]) == len(problems) and not firm & set(fields):
        if set(fields) & set(row.record):
            return _shed(problems, fields)
    elif not any(mark in first.code for mark in FINAL) and not fields:
        return Later(row.key, None, "record", first.code, first.words)  # counted, so that it ends
    owner = OWNER in fields and row.outgoing.owner is not None and row.outgoing.owner_kind == "rep"
    words = "; ".join(dict.fromkeys(problem.words for problem in problems))
    worst = next((one for one in problems if one.name in firm), first)
    return Refused(row.key, worst.code, words[:2000], tuple(fields), owner_fault=owner and EMAIL not in fields)


def _shed(problems: Sequence[Problem], fields: Mapping[str, str]) -> Shed:
    return Shed(
        fields,
        frozenset(one.name for one in problems if one.lasting and one.name),
        frozenset(one.name for one in problems if one.code == "INVALID_DATE" and one.name),
        {one.name: one.options for one in problems if one.options and one.name},
    )


def _clashes(problem: Problem) -> bool:
    """The address, or another unique property, is another record's already."""
    return problem.code in (CONFLICT, TAKEN) or "already exists" in problem.message.casefold()


def _taken(problems: Iterable[Problem], name: str) -> bool:
    return any(problem.code == TAKEN and problem.name == name for problem in problems)


def body_of(reply: Reply) -> dict[str, Any] | None:
    try:
        found = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _entries(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
