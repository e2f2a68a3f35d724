"""The paths of a Salesforce org: those of the data API, below its version, and the others."""

from crmsim.routing import route
from crmsim.salesforce import collections, composite, describe, graph, oauth, query, single, soap

SEVERAL = "several"  # a request that carries others: a write if one of them is

DATA = (
    route("GET", "read", describe.resources),
    route("PATCH composite/sobjects/{object}/{field}", "write", collections.upsert),
    route("POST composite/sobjects", "write", collections.create),
    route("PATCH composite/sobjects", "write", collections.update),
    route("DELETE composite/sobjects", "write", collections.delete),
    route("GET composite/sobjects/{object}", "read", collections.read),
    route("POST composite/sobjects/{object}", "read", collections.read),
    route("GET composite", "read", describe.composites),
    route("POST composite", SEVERAL, composite.composite),
    route("POST composite/batch", SEVERAL, composite.batch),
    route("POST composite/graph", SEVERAL, graph.graph),
    route("GET query", "read", query.query),
    route("GET queryAll", "read", query.query_all),
    route("GET queryAll/{locator}", "read", query.more),
    route("GET tooling/query", "read", query.tooling_query),
    route("GET query/{locator}", "read", query.more),
    route("GET limits", "read", query.limits),
    route("GET sobjects", "read", describe.everything),
    route("GET sobjects/{object}", "read", describe.basic),
    route("GET sobjects/{object}/describe", "read", describe.describe),
    route("POST sobjects/{object}", "write", single.create),
    route("GET sobjects/{object}/{id}", "read", single.read),
    route("PATCH sobjects/{object}/{id}", "write", single.update),
    route("POST sobjects/{object}/{id}", "write", single.create_by_id),
    route("DELETE sobjects/{object}/{id}", "write", single.delete),
    route("GET sobjects/{object}/{field}/{value}", "read", single.read_by_key),
    route("PATCH sobjects/{object}/{field}/{value}", "write", single.upsert),
    route("DELETE sobjects/{object}/{field}/{value}", "write", single.delete_by_key),
)
PLAIN = (
    route("GET services/data", "other", describe.versions),
    route("POST services/oauth2/token", "token", oauth.token),
    route("POST services/oauth2/revoke", "token", oauth.revoke),
    route("POST services/Soap/{kind}/{version}", "token", soap.login),
)
