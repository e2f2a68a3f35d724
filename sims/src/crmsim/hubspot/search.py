"""`POST …/search`."""

from collections.abc import Callable
from typing import Any

from crmsim.hubspot import answers, searching, shown
from crmsim.hubspot.exchange import Exchange
from crmsim.hubspot.portal import Record, Values
from crmsim.hubspot.properties import ObjectType
from crmsim.hubspot.searching import OPERATORS, Filter
from crmsim.wire import Answer

LONGEST, PAGE, REACH = 3_000, 200, 10_000  # characters of a body, records of a page, records of a query


async def search(exchange: Exchange, object: str) -> Answer:
    kind, body, sim = exchange.kind(object), exchange.body(), exchange.sim
    if len(exchange.call.body.decode("utf-8", "replace")) > LONGEST:
        raise _refuse(f"The request body is longer than {LONGEST} characters")
    groups = _groups(exchange, kind, body)
    limit, after = _whole(body, "limit", 10), _whole(body, "after", 0)
    if limit > PAGE:
        raise _refuse(f"The limit of {limit} is more than {PAGE}")
    if after + limit > REACH:
        raise _refuse(f"The offset plus the limit is more than {REACH}")
    await sim.clock.sleep(sim.latency.search)
    await exchange.slow()
    hits = list(searching.found(sim, kind, groups, str(body.get("query") or "")))
    for name, down in _sorts(kind, body):
        hits.sort(key=_by(name), reverse=down)
    names = answers.names(body, "properties")
    page = [hit for hit in hits[after : after + limit] if not hit[0].archived]
    rows = [shown.record(record, shown.asked(record, names), values) for record, values in page]
    total = len(hits) if sim.switches.archived_quirk else sum(1 for hit in hits if not hit[0].archived)
    more = {"paging": {"next": {"after": str(after + limit)}}} if after + limit < len(hits) else {}
    return Answer(200, {"total": total, "results": rows, **more})


def _by(name: str) -> Callable[[tuple[Record, Values]], tuple[int, float, str]]:
    return lambda hit: searching.sort_key(hit[1], name)


def _refuse(message: str) -> answers.ApiError:
    """Texts unverified; the category is that of HubSpot's other refusals of a request."""
    return answers.refuse(400, message, "VALIDATION_ERROR")


def _whole(body: dict[str, Any], name: str, default: int) -> int:
    return default if body.get(name) in (None, "") else answers.number(body, name)


def _groups(exchange: Exchange, kind: ObjectType, body: dict[str, Any]) -> list[list[Filter]]:
    """The filter groups; `filters` beside them are one more. Raises ApiError for too many, or what is none."""
    switches = exchange.sim.switches
    groups: list[list[Filter]] = [
        list(answers.parts(group, "filters")) for group in answers.parts(body, "filterGroups")
    ]
    if body.get("filters"):
        groups.append(list(answers.parts(body, "filters")))
    if len(groups) > switches.search_groups:
        raise _refuse(f"There are {len(groups)} filterGroups; the maximum is {switches.search_groups}")
    if any(len(group) > switches.search_filters for group in groups):
        raise _refuse(f"A filterGroup has more than {switches.search_filters} filters")
    if sum(map(len, groups)) > switches.search_filters_all:
        raise _refuse(f"There are more than {switches.search_filters_all} filters")
    for item in (item for group in groups for item in group):
        if item.get("operator") not in OPERATORS:
            raise answers.malformed(f"Cannot deserialize the operator {item.get('operator')!r}")
        if item.get("propertyName") not in kind.properties:
            raise _refuse(f"There was a problem with the request. Property {item.get('propertyName')} does not exist")
    return groups


def _sorts(kind: ObjectType, body: dict[str, Any]) -> list[tuple[str, bool]]:
    """(property, descending): one at most; a text is a property, with `-` before it descending."""
    found = []
    wanted = body.get("sorts") or []
    if not isinstance(wanted, list):
        raise answers.malformed("Cannot deserialize value of `sorts`: a list is expected")
    for item in wanted:
        if not isinstance(item, dict):
            found.append((str(item).lstrip("-"), str(item).startswith("-")))
        else:
            found.append((str(item.get("propertyName")), item.get("direction") == "DESCENDING"))
    if len(found) > 1 or any(name not in kind.properties for name, _ in found):
        raise _refuse("One sort by one property is all that a search takes")
    return found
