"""Which handler a path and method mean. A path is matched segment by segment; `{name}` takes any one segment."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from crmsim.salesforce import collections, composite, describe, graph, oauth, query, single, soap
from crmsim.wire import Answer

Handler = Callable[..., Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Route:
    """`kind` says what the evidence and the fault plan call such a request."""

    method: str
    pattern: tuple[str, ...]
    kind: str
    handler: Handler

    def match(self, segments: Sequence[str]) -> dict[str, str] | None:
        if len(segments) != len(self.pattern):
            return None
        found = {}
        for wanted, segment in zip(self.pattern, segments, strict=True):
            if wanted.startswith("{"):
                found[wanted[1:-1]] = segment
            elif wanted != segment:
                return None
        return found


def _route(method: str, path: str, kind: str, handler: Handler) -> Route:
    return Route(method, tuple(path.split("/")) if path else (), kind, handler)


SEVERAL = "several"  # a request that carries others: a write if one of them is

DATA = (
    _route("GET", "", "read", describe.resources),
    _route("PATCH", "composite/sobjects/{object}/{field}", "write", collections.upsert),
    _route("POST", "composite/sobjects", "write", collections.create),
    _route("PATCH", "composite/sobjects", "write", collections.update),
    _route("DELETE", "composite/sobjects", "write", collections.delete),
    _route("GET", "composite/sobjects/{object}", "read", collections.read),
    _route("POST", "composite/sobjects/{object}", "read", collections.read),
    _route("GET", "composite", "read", describe.composites),
    _route("POST", "composite", SEVERAL, composite.composite),
    _route("POST", "composite/batch", SEVERAL, composite.batch),
    _route("POST", "composite/graph", SEVERAL, graph.graph),
    _route("GET", "query", "read", query.query),
    _route("GET", "queryAll", "read", query.query_all),
    _route("GET", "queryAll/{locator}", "read", query.more),
    _route("GET", "tooling/query", "read", query.tooling_query),
    _route("GET", "query/{locator}", "read", query.more),
    _route("GET", "limits", "read", query.limits),
    _route("GET", "sobjects", "read", describe.everything),
    _route("GET", "sobjects/{object}", "read", describe.basic),
    _route("GET", "sobjects/{object}/describe", "read", describe.describe),
    _route("POST", "sobjects/{object}", "write", single.create),
    _route("GET", "sobjects/{object}/{id}", "read", single.read),
    _route("PATCH", "sobjects/{object}/{id}", "write", single.update),
    _route("POST", "sobjects/{object}/{id}", "write", single.create_by_id),
    _route("DELETE", "sobjects/{object}/{id}", "write", single.delete),
    _route("GET", "sobjects/{object}/{field}/{value}", "read", single.read_by_key),
    _route("PATCH", "sobjects/{object}/{field}/{value}", "write", single.upsert),
    _route("DELETE", "sobjects/{object}/{field}/{value}", "write", single.delete_by_key),
)
PLAIN = (
    _route("GET", "services/data", "other", describe.versions),
    _route("POST", "services/oauth2/token", "token", oauth.token),
    _route("POST", "services/oauth2/revoke", "token", oauth.revoke),
    _route("POST", "services/Soap/{kind}/{version}", "token", soap.login),
)


@dataclass(frozen=True, slots=True)
class Found:
    route: Route
    names: dict[str, str]


def find(routes: Sequence[Route], method: str, segments: Sequence[str]) -> Found | list[str]:
    """The route and its names, or the methods that the path allows (none: no such path)."""
    allowed = []
    for route in routes:
        names = route.match(segments)
        if names is None:
            continue
        if route.method == method or (method == "HEAD" and route.method == "GET"):
            return Found(route, names)
        allowed.append(route.method)
    return sorted(set(allowed))
