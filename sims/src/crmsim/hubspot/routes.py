"""The paths of a HubSpot account, and the scope that each asks for."""

import re
from collections.abc import Sequence

from crmsim.hubspot import account, associations, batches, objects, owners, schema_doors, search
from crmsim.routing import route

DATED = re.compile(r"\d{4}-\d{2}(-beta)?")
OBJECTS, PAIRS = "crm/v3/objects/{object}", "crm/v4/associations/{start}/{end}"
ENDS = "crm/v4/objects/{start}/{id}/associations"
SCHEMA = "crm/v3/properties/{object}"
READ, WRITE = "crm.objects.{object}.read", "crm.objects.{object}.write"
ROUTES = (
    route(f"POST {OBJECTS}/batch/create", "write", batches.create, WRITE),
    route(f"POST {OBJECTS}/batch/update", "write", batches.update, WRITE),
    route(f"POST {OBJECTS}/batch/upsert", "write", batches.upsert, WRITE),
    route(f"POST {OBJECTS}/batch/archive", "write", batches.archive, WRITE),
    route(f"POST {OBJECTS}/batch/read", "read", batches.read, READ),
    route(f"POST {OBJECTS}/search", "read", search.search, READ),
    route(f"POST {OBJECTS}/merge", "write", objects.merge, WRITE),
    route(f"POST {OBJECTS}", "write", objects.create, WRITE),
    route(f"GET {OBJECTS}", "read", objects.page, READ),
    route(f"GET {OBJECTS}/{{id}}", "read", objects.read, READ),
    route(f"PATCH {OBJECTS}/{{id}}", "write", objects.update, WRITE),
    route(f"DELETE {OBJECTS}/{{id}}", "write", objects.archive, WRITE),
    route("GET crm/v3/owners", "read", owners.page, "crm.objects.owners.read"),
    route("GET crm/v3/owners/{id}", "read", owners.read, "crm.objects.owners.read"),
    route(f"GET {SCHEMA}", "read", schema_doors.every, "crm.schemas.{object}.read"),
    route(f"POST {SCHEMA}", "write", schema_doors.create, "crm.schemas.{object}.write"),
    route(f"GET {SCHEMA}/groups", "read", schema_doors.groups, "crm.schemas.{object}.read"),
    route(f"POST {SCHEMA}/groups", "write", schema_doors.create_group, "crm.schemas.{object}.write"),
    route(f"GET {SCHEMA}/{{name}}", "read", schema_doors.read, "crm.schemas.{object}.read"),
    route(f"POST {PAIRS}/batch/create", "write", associations.create, "crm.objects.{start}.write"),
    route(f"POST {PAIRS}/batch/associate/default", "write", associations.default, "crm.objects.{start}.write"),
    route(f"POST {PAIRS}/batch/archive", "write", associations.archive, "crm.objects.{start}.write"),
    route(f"POST {PAIRS}/batch/read", "read", associations.read, "crm.objects.{start}.read"),
    route(f"GET {ENDS}/{{end}}", "read", associations.of_record, "crm.objects.{start}.read"),
    route(f"PUT {ENDS}/default/{{end}}/{{to}}", "write", associations.put_default, "crm.objects.{start}.write"),
    route("GET account-info/v3/details", "read", account.details),
    route("GET account-info/v3/api-usage/daily/private-apps", "read", account.usage),
    route("POST oauth/v1/token", "token", account.token),
    route("POST oauth/v3/token", "token", account.token),
    route("GET oauth/v1/access-tokens/{token}", "token", account.token_facts),
    route("POST oauth/v2/private-apps/get/access-token-info", "token", account.private_token_facts),
)


def classic(segments: Sequence[str]) -> Sequence[str]:
    """A date-versioned path (`crm/objects/2026-03/…`) as the v3 or v4 one whose shapes it shares."""
    if len(segments) > 2 and segments[0] == "crm" and DATED.fullmatch(segments[2]):
        linked = segments[1] == "associations" or "associations" in segments[3:]
        return ("crm", "v4" if linked else "v3", segments[1], *segments[3:])
    if len(segments) > 2 and segments[0] == "account-info" and DATED.fullmatch(segments[1]):
        return ("account-info", "v3", *segments[2:])
    return segments
