"""`/crm/v3/properties`: what the objects have, and new properties."""

from crmsim.clock import stamp
from crmsim.hubspot import answers, properties
from crmsim.hubspot.exchange import Exchange
from crmsim.hubspot.values import instant
from crmsim.wire import Answer


async def every(exchange: Exchange, object: str) -> Answer:
    kind = exchange.kind(object)
    await exchange.spend()
    archived = exchange.flag("archived")
    rows = [] if archived else [item.json() for item in kind.properties.values()]
    return Answer(200, {"results": rows})


async def read(exchange: Exchange, object: str, name: str) -> Answer:
    kind = exchange.kind(object)
    await exchange.spend()
    found = kind.properties.get(name)
    if found is None:
        raise answers.refuse(
            404,
            f"Property {name} does not exist",
            "OBJECT_NOT_FOUND",
            subCategory="Properties.PROPERTY_NOT_FOUND",
        )
    return Answer(200, found.json())


async def create(exchange: Exchange, object: str) -> Answer:
    """201 with the property; 409 for a name that is taken, 400 for a group that is not there."""
    kind, body = exchange.kind(object), exchange.body()
    await exchange.spend(1)
    try:
        made = properties.made(body, instant(stamp().wall))
    except ValueError as missing:
        raise answers.refuse(
            400,
            f"Invalid input JSON on line 1, column 2. Some required fields were not set: [{missing}]",
            "VALIDATION_ERROR",
        ) from None
    if made.group not in kind.groups:
        raise answers.refuse(400, f"Property group {made.group} does not exist", "VALIDATION_ERROR")
    if made.name in kind.properties:
        raise answers.refuse(
            409,
            f"A property named '{made.name}' already exists.",
            "CONFLICT",
            subCategory="Properties.PROPERTY_EXISTS",
            context={"propertyName": [made.name]},
        )
    if made.kind == "bool" and [value for _, value in made.options] not in (["true", "false"], ["false", "true"]):
        raise answers.refuse(
            400,
            "Boolean properties must have exactly two options; one with a value of 'true', the other with a value of "
            "'false'.",
            "VALIDATION_ERROR",
        )
    kind.add(made)
    exchange.sim.evidence.wrote(exchange.entry, [], [], committed=True)
    return Answer(201, made.json())


async def groups(exchange: Exchange, object: str) -> Answer:
    kind = exchange.kind(object)
    await exchange.spend()
    rows = [
        {"name": name, "label": label, "displayOrder": -1, "archived": False} for name, label in kind.groups.items()
    ]
    return Answer(200, {"results": rows})


async def create_group(exchange: Exchange, object: str) -> Answer:
    kind, body = exchange.kind(object), exchange.body()
    await exchange.spend(1)
    name, label = body.get("name"), body.get("label")
    if not isinstance(name, str) or not isinstance(label, str):
        raise answers.refuse(
            400,
            "Invalid input JSON on line 1, column 2. Some required fields were not set: [name, label]",
            "VALIDATION_ERROR",
        )
    if name in kind.groups:
        raise answers.refuse(409, f"A property group named '{name}' already exists.", "CONFLICT")
    kind.groups[name] = label
    exchange.sim.evidence.wrote(exchange.entry, [], [], committed=True)
    return Answer(201, {"name": name, "label": label, "displayOrder": -1, "archived": False})
