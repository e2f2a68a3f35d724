"""What the org says of itself: resources, objects, and fields as the API user sees them (SF-docs describe)."""

from typing import Any

from crmsim.salesforce.exchange import Exchange
from crmsim.salesforce.schema import TEXT_KINDS, Field, Sobject
from crmsim.wire import Answer

MASTER = "012000000000000AAA"  # the record type that every object has
SIZED = (*TEXT_KINDS, "id", "reference")  # the kinds whose length is told


async def versions(exchange: Exchange) -> Answer:
    """`GET /services/data`: no session, not counted, oldest first (SF-docs dome_versions)."""
    del exchange
    return Answer(200, [{"label": _label(n), "url": f"/services/data/v{n}.0", "version": f"{n}.0"} for n in VERSIONS])


OLDEST, OLDEST_LIVING, NEWEST = 20, 31, 67  # v21 to v30 answer 410 since Summer '25 (SF-docs api versions)
VERSIONS = (OLDEST, *range(OLDEST_LIVING, NEWEST + 1))


def _label(number: int) -> str:
    """Three releases a year: v20.0 was Winter '11."""
    season = ("Winter", "Spring", "Summer")[(number - OLDEST) % 3]
    return f"{season} '{11 + (number - OLDEST) // 3:02}"


async def resources(exchange: Exchange) -> Answer:
    """`GET /services/data/vXX.X`."""
    base = f"/services/data/v{exchange.version}"
    names = ("sobjects", "limits", "query", "queryAll", "composite", "tooling")
    return Answer(200, {name: f"{base}/{name}" for name in names})


async def composites(exchange: Exchange) -> Answer:
    """`GET /composite`."""
    base = f"/services/data/v{exchange.version}/composite"
    return Answer(200, {name: f"{base}/{name}" for name in ("batch", "sobjects", "graph")})


async def everything(exchange: Exchange) -> Answer:
    """`GET /sobjects`."""
    await exchange.sim.clock.sleep(exchange.sim.latency.reading)
    shown = [_brief(exchange, item) for item in exchange.sim.org.objects.values() if not item.tooling]
    return Answer(200, {"encoding": "UTF-8", "maxBatchSize": 200, "sobjects": shown})


async def basic(exchange: Exchange, object: str) -> Answer:
    """`GET /sobjects/{Object}`."""
    sobject = exchange.sobject(object)
    await exchange.sim.clock.sleep(exchange.sim.latency.reading)
    return Answer(200, {"objectDescribe": _brief(exchange, sobject), "recentItems": []})


async def describe(exchange: Exchange, object: str) -> Answer:
    """`GET /sobjects/{Object}/describe`: fields that field-level security hides are not there."""
    sobject = exchange.sobject(object)
    await exchange.sim.clock.sleep(exchange.sim.latency.reading)
    fields = [_field(sobject, item) for item in sobject.fields.values()]
    more = {"fields": fields, "recordTypeInfos": _record_types(exchange, sobject), "childRelationships": []}
    return Answer(200, _brief(exchange, sobject) | more)


def _brief(exchange: Exchange, sobject: Sobject) -> dict[str, Any]:
    path = f"/services/data/v{exchange.version}/sobjects/{sobject.name}"
    writable = not sobject.read_only
    return {
        "name": sobject.name, "label": sobject.name, "labelPlural": f"{sobject.name}s", "keyPrefix": sobject.prefix,
        "custom": sobject.name.endswith("__c"), "createable": writable, "updateable": writable, "deletable": writable,
        "queryable": True, "retrieveable": True, "searchable": writable, "undeletable": writable,
        "layoutable": writable, "triggerable": writable,
        "mergeable": sobject.name in ("Lead", "Contact", "Account"), "customSetting": False,
        "urls": {"sobject": path, "describe": f"{path}/describe", "rowTemplate": f"{path}/{{ID}}"},
    }  # fmt: skip


def _field(sobject: Sobject, item: Field) -> dict[str, Any]:
    writable = item.writable and not sobject.read_only
    filled = item.default is not None or item.kind == "boolean"
    defaulted = filled or (item.name == "OwnerId" and not sobject.read_only)
    return {
        "name": item.name, "label": item.title, "type": item.kind, "custom": item.name.endswith("__c"),
        "length": item.length if item.kind in SIZED else 0,
        "nillable": not (item.required or item.kind in ("id", "boolean") or item.name in ("OwnerId", "Status")),
        "createable": writable, "updateable": writable, "defaultedOnCreate": defaulted or not item.writable,
        "defaultValue": item.default, "externalId": item.external_id, "unique": item.unique,
        "idLookup": item.id_lookup or item.external_id or item.name == "Id", "caseSensitive": item.case_sensitive,
        "filterable": item.filterable, "sortable": item.filterable, "groupable": item.filterable, "calculated": False,
        "nameField": item.name == "Name", "referenceTo": list(item.targets),
        "relationshipName": item.relationship or None,
        "restrictedPicklist": item.restricted, "dependentPicklist": False,
        "picklistValues": [
            {"active": True, "defaultValue": value == item.default, "label": value, "validFor": None, "value": value}
            for value in item.values
        ],
    }  # fmt: skip


def _record_types(exchange: Exchange, sobject: Sobject) -> list[dict[str, Any]]:
    """The object's own, and Master, which stands when there is none."""
    own = [row for row in exchange.sim.org.live("RecordType") if row.values.get("SobjectType") == sobject.name]
    found = [
        _record_type(exchange, sobject, row.id18, str(row.values["Name"]), str(row.values.get("DeveloperName")),
                     active=bool(row.values.get("IsActive")), master=False, default=n == 0)
        for n, row in enumerate(own)
    ]  # fmt: skip
    master = _record_type(exchange, sobject, MASTER, "Master", "Master", active=True, master=True, default=not own)
    return [*found, master]


def _record_type(
    exchange: Exchange,
    sobject: Sobject,
    id18: str,
    name: str,
    developer: str,
    *,
    active: bool,
    master: bool,
    default: bool,
) -> dict[str, Any]:
    path = f"/services/data/v{exchange.version}/sobjects/{sobject.name}/describe/layouts/{id18}"
    return {
        "recordTypeId": id18, "name": name, "developerName": developer, "active": active, "available": active,
        "master": master, "defaultRecordTypeMapping": default, "urls": {"layout": path},
    }  # fmt: skip
