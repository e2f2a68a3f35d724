"""The search index: what it has seen so far, and how its filters read it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from crmsim.hubspot.answers import names
from crmsim.hubspot.portal import Record, Values
from crmsim.hubspot.properties import ObjectType
from crmsim.hubspot.state import Hubspot

Filter = Mapping[str, Any]
QUERIED = {
    "contacts": ("firstname", "lastname", "email", "phone", "hs_additional_emails", "mobilephone", "company"),
    "companies": ("website", "phone", "name", "domain"),
}
OPERATORS = (
    "EQ", "NEQ", "LT", "LTE", "GT", "GTE", "BETWEEN", "IN", "NOT_IN", "HAS_PROPERTY", "NOT_HAS_PROPERTY",
    "CONTAINS_TOKEN", "NOT_CONTAINS_TOKEN",
)  # fmt: skip


def remember(sim: Hubspot, record: Record) -> None:
    """A change has been made: search sees it some seconds from now."""
    switches, now = sim.switches, sim.clock.now()
    least, most = min(switches.index_lag_least, switches.index_lag_most), switches.index_lag_most
    lag = sim.dice(f"lag:{record.id}:{record.version}").uniform(least, most)
    seen = None if record.archived else dict(record.values)
    last = record.index[-1][0] if record.index else 0.0
    record.index.append((max(now + lag, last), seen))


def index_now(record: Record) -> None:
    """A record that has been there for long."""
    record.index.clear()
    record.index.append((float("-inf"), None if record.archived else dict(record.values)))


def seen(record: Record, now: float) -> Values | None:
    """The record as search sees it now; None: not there (yet, or any more)."""
    while len(record.index) > 1 and record.index[1][0] <= now:
        record.index.popleft()
    if not record.index or record.index[0][0] > now:
        return None
    return record.index[0][1]


def found(
    sim: Hubspot, kind: ObjectType, groups: Sequence[Sequence[Filter]], query: str
) -> Iterator[tuple[Record, Values]]:
    """What matches: the groups are alternatives, the filters of a group hold together."""
    for record in list(sim.portal.by_kind[kind.name].values()):
        values = seen(record, sim.clock.now())
        if values is None:
            continue
        fits = not groups or any(all(holds(kind, values, item) for item in group) for group in groups)
        if fits and (not query or _contains(kind, values, query)):
            yield record, values


def _contains(kind: ObjectType, values: Values, query: str) -> bool:
    return any(query.lower() in values.get(name, "").lower() for name in QUERIED[kind.name])


def holds(kind: ObjectType, values: Values, item: Filter) -> bool:
    """Whether one filter holds. Texts compare without case, numbers and moments as such."""
    operator, have = item["operator"], values.get(item["propertyName"])
    if operator in ("HAS_PROPERTY", "NOT_HAS_PROPERTY"):
        return bool((have is not None) == (operator == "HAS_PROPERTY"))
    if operator in ("NEQ", "NOT_IN", "NOT_CONTAINS_TOKEN"):
        positive = {"NEQ": "EQ", "NOT_IN": "IN", "NOT_CONTAINS_TOKEN": "CONTAINS_TOKEN"}[operator]
        return have is not None and not holds(kind, values, {**item, "operator": positive})
    if have is None:
        return False
    if operator in ("EQ", "IN"):
        wanted = [item.get("value")] if operator == "EQ" else names(item, "values")
        return any(have.lower() == str(value).lower() for value in wanted)
    if operator == "CONTAINS_TOKEN":
        return _token(have, str(item.get("value", "")))
    return _ordered(operator, have, item)


def _token(have: str, wanted: str) -> bool:
    """One of the words, `*` for any ending or beginning."""
    words = [*have.lower().replace("@", " ").replace(".", " ").split(), have.lower()]
    part = wanted.lower().strip("*")
    begins, ends = not wanted.startswith("*"), not wanted.endswith("*")
    return any(word == part if begins and ends else word.startswith(part) if begins else part in word for word in words)


def _ordered(operator: str, have: str, item: Filter) -> bool:
    mine, low = _rank(have), _rank(str(item.get("value", "")))
    if operator == "BETWEEN":
        return low <= mine <= _rank(str(item.get("highValue", "")))
    return {"LT": mine < low, "LTE": mine <= low, "GT": mine > low, "GTE": mine >= low}[operator]


def _rank(text: str) -> tuple[int, float, str]:
    """Moments in milliseconds and numbers before texts."""
    try:
        return 0, float(text), ""
    except ValueError:
        pass
    try:
        return 0, datetime.fromisoformat(text).timestamp() * 1000, ""
    except ValueError:
        return 1, 0.0, text.lower()


def sort_key(values: Values, name: str) -> tuple[int, float, str]:
    return _rank(values.get(name, ""))
