"""Composite Graph: graphs of up to 500 nodes together, each of which stands or falls as one (SF-docs)."""

from collections.abc import Mapping
from typing import Any

from crmsim.salesforce import composite
from crmsim.salesforce.answers import ApiError
from crmsim.salesforce.composite import Part
from crmsim.salesforce.exchange import Exchange
from crmsim.wire import Answer

MOST_GRAPHS, MOST_NODES = 75, 500
MOST_FAILED = 14  # after so many the graphs that are left are not begun


async def graph(exchange: Exchange) -> Answer:
    """`POST /composite/graph`: one call toward the limit."""
    exchange.since(50)
    raw = exchange.json_body().get("graphs")
    if not isinstance(raw, list) or not raw or not all(isinstance(item, dict) for item in raw):
        raise ApiError(400, "JSON_PARSER_ERROR", "graphs must be a list of graphs")
    graphs = [(_name(item), _nodes(exchange, item)) for item in raw]
    names = [name for name, _ in graphs]
    if len(set(names)) < len(names):
        raise ApiError(400, "INVALID_INPUT", "graphId must be unique in a request")
    nodes = sum(len(parts) for _, parts in graphs)
    if len(graphs) > MOST_GRAPHS or nodes > MOST_NODES:
        message = f"{len(graphs)} graphs with {nodes} nodes; the limits are {MOST_GRAPHS} and {MOST_NODES}"
        raise ApiError(400, "INVALID_INPUT", message)
    answers: list[dict[str, Any]] = []
    for name, parts in graphs:
        if sum(not answer["isSuccessful"] for answer in answers) >= MOST_FAILED:
            results, whole = [composite.halted_result(part) for part in parts], False
        else:
            results, whole = await composite.run(exchange, parts, all_or_none=True)
        answers.append({"graphId": name, "graphResponse": {"compositeResponse": results}, "isSuccessful": whole})
    return Answer(200, {"graphs": answers})


def _name(item: Mapping[str, Any]) -> str:
    name = item.get("graphId")
    if not isinstance(name, str) or not name[:1].isalnum() or len(name) >= 40 or "." in name:
        raise ApiError(400, "INVALID_INPUT", f"graphId {name!r}: an alphanumeric start, below 40 characters, no period")
    return name


def _nodes(exchange: Exchange, item: Mapping[str, Any]) -> list[Part]:
    parts = composite.parsed(exchange, item)
    for part in parts:
        if part.url.strip("/").split("/")[3:4] != ["sobjects"]:
            raise ApiError(400, "INVALID_INPUT", f"a node's url must be one of /sobjects, not {part.url}")
    return parts
