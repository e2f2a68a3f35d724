"""Salesforce's three error shapes: `errorCode` arrays of the data API, `statusCode` rows, `error` objects of OAuth."""

from typing import Any

import orjson

from crmsim.salesforce.commit import RowResult
from crmsim.salesforce.refusals import RowError
from crmsim.wire import Answer

LOCK_CODE = "UNABLE_TO_LOCK_ROW"


class ApiError(Exception):
    """Ends a request with the data API's error array."""

    def __init__(self, status: int, code: str, message: str, fields: list[str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.fields = status, code, fields

    def answer(self) -> Answer:
        return error(self.status, self.code, str(self), self.fields)


def error(status: int, code: str, message: str, fields: list[str] | None = None) -> Answer:
    """`fields` is absent when None, as in the recorded answers."""
    entry: dict[str, Any] = {"message": message, "errorCode": code}
    if fields is not None:
        entry["fields"] = fields
    return Answer(status, [entry])


def oauth_error(code: str, description: str) -> Answer:
    return Answer(400, {"error": code, "error_description": description}, {"Cache-Control": "no-store"})


def html(status: int, title: str) -> Answer:
    """What the edge answers when it cannot reach the application: no JSON."""
    page = f"<html><head><title>{status} {title}</title></head><body><h1>{status} {title}</h1></body></html>"
    return Answer(status, page.encode(), media="text/html")


def unauthorized() -> Answer:
    answer = error(401, "INVALID_SESSION_ID", "Session expired or invalid")
    return Answer(answer.status, answer.body, {"WWW-Authenticate": "Token"})


def row(result: RowResult, *, upsert: bool) -> dict[str, Any]:
    """A row of a Collections answer: refused rows have no id, and `created` is the upsert's alone."""
    if result.error is not None:
        refusal = {
            "statusCode": result.error.code, "message": result.error.message, "fields": list(result.error.fields),
        }  # fmt: skip
        return {"success": False, "errors": [refusal]}
    done: dict[str, Any] = {"id": result.id, "success": True, "errors": []}
    if upsert:
        done["created"] = result.created
    return done


def status_of(refusal: RowError, *, lock_status: int, storage_status: int) -> int:
    """The HTTP status of a refusal on a single-record call."""
    special = {
        LOCK_CODE: lock_status,
        "STORAGE_LIMIT_EXCEEDED": storage_status,
        "ENTITY_IS_DELETED": 404,
        "NOT_FOUND": 404,
    }
    return special.get(refusal.code, 400)


def parse_json(body: bytes) -> Any:
    """The body as JSON. Raises ApiError as Salesforce words it."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as trouble:
        raise ApiError(
            400, "JSON_PARSER_ERROR", f"{trouble.msg} at [line:{trouble.lineno}, column:{trouble.colno}]"
        ) from None
