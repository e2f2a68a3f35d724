"""The fault plan: which request meets which fault. Seeded, so that a run can be repeated.

A plan is JSON: `{"seed": 1, "faults": [{"kind": "reset_after", "on": "write", "nth": [3]}, ...]}`. All conditions of a
fault must hold; the first fault of the list that fires is the request's. Times are simulated seconds since the plan
was installed; `nth` and `every` count, from 1, the requests that match `on`, `method`, `path` and `object`.

`on: "part"` means the subrequests of a request (Salesforce's Composite): each is drawn for itself, by its own method,
path and object, after the request that carries it. The words for kinds are each CRM's own; `parse` is told them.
"""

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

KINDS = {
    "unavailable": "503 SERVER_UNAVAILABLE before any work",
    "bad_gateway": "502 with an HTML page, as the edge sends it; before any work, or after it with commit = true",
    "server_error": "500 UNKNOWN_EXCEPTION before any work, or after it with commit = true",
    "gateway_timeout": "504 with an HTML page; before any work, or after it with commit = true",
    "expired_session": "401 INVALID_SESSION_ID, and the token stays dead",
    "daily_limit": "403 REQUEST_LIMIT_EXCEEDED, TotalRequests",
    "concurrent_limit": "403 REQUEST_LIMIT_EXCEEDED, ConcurrentRequests",
    "hang": "answers nothing for `seconds`, before the work (or after it with commit = true), then `then`",
    "reset_before": "connection reset before any work",
    "reset_after": "connection reset after the commit",
    "silent": "200 whose list holds only the first `rows` results (0 by default); nothing written unless commit = true",
    "broken": "200 cut in the middle of its JSON, after the commit",
    "slow": "the work takes `seconds` more, locks held",
    "lock": "UNABLE_TO_LOCK_ROW for the first `rows` rows (all by default), without any wait",
    "storage_full": "STORAGE_LIMIT_EXCEEDED for every record that would be created",
    "status": "the HTTP `status`, `body` and `headers` of the plan; before any work, or after it with commit = true",
}
ON = ("data", "write", "read", "token", "part", "any")
THEN = ("answer", "reset")


@dataclass(frozen=True, slots=True)
class Subject:
    """What a fault may look at: the kind of request (`token`, `read`, `write`, `part`), its line, its object."""

    kind: str
    method: str
    path: str
    object: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """One line of the plan."""

    kind: str
    on: str = "data"
    method: str | None = None
    path: str | None = None  # part of the path
    object: str | None = None
    rate: float | None = None  # 0 to 1
    nth: tuple[int, ...] = ()
    every: int | None = None
    start: float = 0.0
    until: float | None = None
    times: int | None = None  # fires at most so often
    seconds: float = 0.0
    rows: int | None = None
    commit: bool = False
    then: str = "answer"
    status: int | None = None  # of the kind `status`
    body: Any = None  # JSON; a text goes out as HTML
    headers: Mapping[str, str] = field(default_factory=dict)

    def concerns(self, subject: Subject) -> bool:
        usual = {"any": subject.kind != "part", "data": subject.kind in ("read", "write")}
        kind = usual.get(self.on, self.on == subject.kind)
        line = (self.method or subject.method) == subject.method and (self.path or "") in subject.path
        return kind and line and (self.object or subject.object).lower() == subject.object.lower()


def parse(document: Mapping[str, Any], kinds: Collection[str] = KINDS) -> tuple[int, list[Fault]]:
    """Seed and faults of a plan; `kinds` are the CRM's. Raises ValueError that names the entry and the remedy."""
    unknown = set(document) - {"seed", "faults", "add"}
    if unknown:
        raise ValueError(f"unknown keys in the fault plan: {sorted(unknown)}; it has seed, faults and add")
    entries = document.get("faults", [])
    if not isinstance(entries, list):
        raise ValueError("faults must be a list")
    return int(document.get("seed", 0)), [_fault(entry, f"faults[{n}]", kinds) for n, entry in enumerate(entries)]


def _fault(entry: Any, where: str, kinds: Collection[str]) -> Fault:
    if not isinstance(entry, dict) or entry.get("kind") not in kinds:
        raise ValueError(f"{where}: kind must be one of {', '.join(kinds)}")
    values = {("start" if name == "from" else name): value for name, value in entry.items()}
    unknown = set(values) - {known.name for known in fields(Fault)}
    if unknown:
        raise ValueError(f"{where}: unknown keys {sorted(unknown)}")
    nth = values.get("nth", ())
    values["nth"] = (nth,) if isinstance(nth, int) else tuple(nth)
    fault = Fault(**values)
    if fault.on not in ON:
        raise ValueError(f"{where}: on must be one of {', '.join(ON)}")
    if fault.then not in THEN:
        raise ValueError(f"{where}: then must be one of {', '.join(THEN)}")
    if fault.rate is not None and not 0 <= fault.rate <= 1:
        raise ValueError(f"{where}: rate is a probability from 0 to 1")
    if fault.every is not None and fault.every < 1:
        raise ValueError(f"{where}: every must be 1 or more")
    if fault.kind == "status" and not (isinstance(fault.status, int) and 200 <= fault.status <= 599):
        raise ValueError(f"{where}: the kind status needs a status from 200 to 599")
    return fault


@dataclass(slots=True)
class _Line:
    """A fault of the plan with its counters and its own dice, so that one line's luck does not move another's."""

    fault: Fault
    dice: random.Random
    seen: int = 0
    fired: int = 0

    def fires(self, age: float) -> bool:
        """Counts the request; `age` is the time since the plan was installed."""
        self.seen += 1
        fault = self.fault
        lucky = fault.rate is None or self.dice.random() < fault.rate
        due = fault.start <= age and (fault.until is None or age < fault.until)
        turn = (not fault.nth or self.seen in fault.nth) and (not fault.every or self.seen % fault.every == 0)
        left = fault.times is None or self.fired < fault.times
        if lucky and due and turn and left:
            self.fired += 1
            return True
        return False


@dataclass(slots=True)
class FaultPlan:
    """The plan in force."""

    seed: int = 0
    installed: float = 0.0
    lines: list[_Line] = field(default_factory=list)

    def install(self, seed: int, faults: list[Fault], now: float, *, add: bool = False) -> None:
        """Replace the plan (or add to it). Lines that stay keep their counts and their time."""
        if not add:
            self.seed, self.installed, self.lines = seed, now, []
        start = len(self.lines)
        self.lines += [_Line(fault, random.Random(f"{seed}:{start + n}")) for n, fault in enumerate(faults)]

    def draw(self, subject: Subject, now: float) -> Fault | None:
        """The fault of this request. Every line that concerns it counts it, whichever fires."""
        age = now - self.installed
        fired = [line.fault for line in self.lines if line.fault.concerns(subject) and line.fires(age)]
        return fired[0] if fired else None

    def report(self) -> list[dict[str, Any]]:
        return [
            {"kind": line.fault.kind, "on": line.fault.on, "seen": line.seen, "fired": line.fired}
            for line in self.lines
        ]
