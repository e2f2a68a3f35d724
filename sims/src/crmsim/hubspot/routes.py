"""Which handler a path and method mean. A path is matched segment by segment; `{name}` takes any one segment."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from crmsim.hubspot import account, associations, batches, objects, owners, schema_doors, search
from crmsim.wire import Answer

Handler = Callable[..., Awaitable[Answer]]
DATED = re.compile(r"\d{4}-\d{2}(-beta)?")


@dataclass(frozen=True, slots=True)
class Route:
    """`kind` is what evidence and fault plan call it; `scope` what the app must have been granted."""

    method: str
    pattern: tuple[str, ...]
    kind: str
    handler: Handler
    scope: str = ""

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


def _route(line: str, kind: str, handler: Handler, scope: str = "") -> Route:
    method, path = line.split()
    return Route(method, tuple(path.split("/")), kind, handler, scope)


OBJECTS, PAIRS = "crm/v3/objects/{object}", "crm/v4/associations/{start}/{end}"
ENDS = "crm/v4/objects/{start}/{id}/associations"
SCHEMA = "crm/v3/properties/{object}"
READ, WRITE = "crm.objects.{object}.read", "crm.objects.{object}.write"
ROUTES = (
    _route(f"POST {OBJECTS}/batch/create", "write", batches.create, WRITE),
    _route(f"POST {OBJECTS}/batch/update", "write", batches.update, WRITE),
    _route(f"POST {OBJECTS}/batch/upsert", "write", batches.upsert, WRITE),
    _route(f"POST {OBJECTS}/batch/archive", "write", batches.archive, WRITE),
    _route(f"POST {OBJECTS}/batch/read", "read", batches.read, READ),
    _route(f"POST {OBJECTS}/search", "read", search.search, READ),
    _route(f"POST {OBJECTS}/merge", "write", objects.merge, WRITE),
    _route(f"POST {OBJECTS}", "write", objects.create, WRITE),
    _route(f"GET {OBJECTS}", "read", objects.page, READ),
    _route(f"GET {OBJECTS}/{{id}}", "read", objects.read, READ),
    _route(f"PATCH {OBJECTS}/{{id}}", "write", objects.update, WRITE),
    _route(f"DELETE {OBJECTS}/{{id}}", "write", objects.archive, WRITE),
    _route("GET crm/v3/owners", "read", owners.page, "crm.objects.owners.read"),
    _route("GET crm/v3/owners/{id}", "read", owners.read, "crm.objects.owners.read"),
    _route(f"GET {SCHEMA}", "read", schema_doors.every, "crm.schemas.{object}.read"),
    _route(f"POST {SCHEMA}", "write", schema_doors.create, "crm.schemas.{object}.write"),
    _route(f"GET {SCHEMA}/groups", "read", schema_doors.groups, "crm.schemas.{object}.read"),
    _route(f"POST {SCHEMA}/groups", "write", schema_doors.create_group, "crm.schemas.{object}.write"),
    _route(f"GET {SCHEMA}/{{name}}", "read", schema_doors.read, "crm.schemas.{object}.read"),
    _route(f"POST {PAIRS}/batch/create", "write", associations.create, "crm.objects.{start}.write"),
    _route(f"POST {PAIRS}/batch/associate/default", "write", associations.default, "crm.objects.{start}.write"),
    _route(f"POST {PAIRS}/batch/archive", "write", associations.archive, "crm.objects.{start}.write"),
    _route(f"POST {PAIRS}/batch/read", "read", associations.read, "crm.objects.{start}.read"),
    _route(f"GET {ENDS}/{{end}}", "read", associations.of_record, "crm.objects.{start}.read"),
    _route(f"PUT {ENDS}/default/{{end}}/{{to}}", "write", associations.put_default, "crm.objects.{start}.write"),
    _route("GET account-info/v3/details", "read", account.details),
    _route("GET account-info/v3/api-usage/daily/private-apps", "read", account.usage),
    _route("POST oauth/v1/token", "token", account.token),
    _route("POST oauth/v3/token", "token", account.token),
    _route("GET oauth/v1/access-tokens/{token}", "token", account.token_facts),
    _route("POST oauth/v2/private-apps/get/access-token-info", "token", account.private_token_facts),
)


@dataclass(frozen=True, slots=True)
class Found:
    route: Route
    names: dict[str, str]


def classic(segments: Sequence[str]) -> Sequence[str]:
    """A date-versioned path (`crm/objects/2026-03/…`) as the v3 or v4 one whose shapes it shares."""
    if len(segments) > 2 and segments[0] == "crm" and DATED.fullmatch(segments[2]):
        linked = segments[1] == "associations" or "associations" in segments[3:]
        return ("crm", "v4" if linked else "v3", segments[1], *segments[3:])
    if len(segments) > 2 and segments[0] == "account-info" and DATED.fullmatch(segments[1]):
        return ("account-info", "v3", *segments[2:])
    return segments


def find(method: str, segments: Sequence[str]) -> Found | list[str]:
    """The route and its names, or the methods that the path allows (none: no such path)."""
    path, allowed = classic(segments), []
    for route in ROUTES:
        names = route.match(path)
        if names is None:
            continue
        if route.method == method or (method == "HEAD" and route.method == "GET"):
            return Found(route, names)
        allowed.append(route.method)
    return sorted(set(allowed))
