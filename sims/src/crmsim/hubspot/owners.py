"""`/crm/v3/owners`: who may own records."""

from typing import Any

from crmsim.hubspot import answers
from crmsim.hubspot.exchange import Exchange, paging
from crmsim.hubspot.portal import Owner
from crmsim.wire import Answer

PAGE = 500


def owner(item: Owner) -> dict[str, Any]:
    """`userId` is null for the archived (HS-docs owners)."""
    body: dict[str, Any] = {
        "id": item.id, "email": item.email, "type": "PERSON", "firstName": item.first, "lastName": item.last,
        "userId": None if item.archived else item.user, "userIdIncludingInactive": item.user,
        "createdAt": item.born, "updatedAt": item.born, "archived": item.archived,
    }  # fmt: skip
    if item.teams:
        body["teams"] = [{"id": str(place + 1), "name": name, "primary": not place}
                         for place, name in enumerate(item.teams)]  # fmt: skip
    return body


async def page(exchange: Exchange) -> Answer:
    query = exchange.call.query
    await exchange.spend()
    archived, email = exchange.flag("archived"), query.get("email", "").strip().lower()
    text, after = query.get("limit") or "100", query.get("after") or "0"
    if not (text.isdigit() and after.isdigit() and 0 < int(text) <= PAGE):
        raise answers.refuse(400, f"limit must be from 1 to {PAGE}, after a cursor of a page", "VALIDATION_ERROR")
    owners = sorted(exchange.portal.owners.values(), key=lambda item: int(item.id))
    found = [item for item in owners if item.archived is archived and email in ("", item.email.lower())]
    start, limit = int(after), int(text)
    more = str(start + limit) if start + limit < len(found) else None
    rows = [owner(item) for item in found[start : start + limit]]
    return Answer(200, {"results": rows, **paging(exchange.call, more)})


async def read(exchange: Exchange, id: str) -> Answer:
    """`idProperty=userId` looks for the user's number instead."""
    query = exchange.call.query
    await exchange.spend()
    archived = exchange.flag("archived")
    for item in exchange.portal.owners.values():
        wanted = str(item.user) if query.get("idProperty") == "userId" else item.id
        if wanted == id and item.archived is archived:
            return Answer(200, owner(item))
    raise answers.not_found()
