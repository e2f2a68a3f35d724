"""HubSpot's error object, and the pages its edge sends instead."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from crmsim.hubspot.values import Invalid
from crmsim.wire import Answer

CORRELATION = "X-HubSpot-Correlation-Id"
NO_CREDENTIALS = (
    "Authentication credentials not found. This API supports OAuth 2.0 authentication and you can find more details at "
    "https://developers.hubspot.com/docs/methods/auth/oauth-overview"
)
NO_SCOPES = (
    "This app hasn't been granted all required scopes to make this call. Read more about required scopes here: "
    "https://developers.hubspot.com/scopes."
)


class ApiError(Exception):
    """Ends a request with this answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.body)
        self.answer = answer


def error(
    status: int,
    message: str,
    category: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Answer:
    """`more` are further fields (context, errors, links, subCategory, …); all are optional, as HubSpot says."""
    correlation = str(uuid.uuid4())
    body: dict[str, Any] = {"status": "error", "message": message, "correlationId": correlation, **more}
    if category is not None:
        body["category"] = category
    return Answer(status, body, {CORRELATION: correlation, **(headers or {})})


def refuse(status: int, message: str, category: str | None = None, **more: Any) -> ApiError:
    return ApiError(error(status, message, category, **more))


def not_found() -> ApiError:
    """The recorded answer for a record id that is not there: no category."""
    return refuse(404, "resource not found")


def values_text(wrong: Sequence[Invalid]) -> str:
    """JSON inside a sentence, as recorded."""
    inside = orjson.dumps([item.inside() for item in wrong]).decode()
    return f"Property values were not valid: {inside}"


def unauthorized() -> ApiError:
    return refuse(401, NO_CREDENTIALS, "INVALID_AUTHENTICATION")


def expired(seconds: float, moment: str) -> ApiError:
    """`seconds` ago, at `moment` (ISO)."""
    return refuse(
        401,
        f"The OAuth token used to make this call expired {int(seconds)} second(s) ago.",
        "EXPIRED_AUTHENTICATION",
        context={"expire time": [moment]},
    )


def missing_scopes(scopes: Sequence[str], shape: str) -> ApiError:
    """Two shapes were seen: granular scopes in the body's context, plain ones in the first error's."""
    links = {"scopes": "https://developers.hubspot.com/scopes"}
    words = "One or more of the following scopes are required."
    if shape == "granular":
        context = {"requiredGranularScopes": list(scopes)}
        errors = [{"message": words, "context": context}]
        return refuse(403, NO_SCOPES, "MISSING_SCOPES", context=context, errors=errors, links=links)
    errors = [{"message": words, "context": {"requiredScopes": list(scopes)}}]
    return refuse(403, NO_SCOPES, "MISSING_SCOPES", errors=errors, links=links)


def html(status: int, title: str) -> Answer:
    """What the edge answers when it cannot reach the application: no JSON."""
    page = f"<html><head><title>{status} {title}</title></head><body><h1>{status} {title}</h1></body></html>"
    return Answer(status, page.encode(), media="text/html")


def parse_json(body: bytes) -> dict[str, Any]:
    """The body as a JSON object. Raises ApiError as HubSpot words it, without a category."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as trouble:
        line, column = trouble.lineno, trouble.colno
        raise malformed(f"Unexpected character: {trouble.msg}", line, column) from None
    if not isinstance(found, dict):
        raise malformed("Cannot deserialize value of type `java.util.LinkedHashMap` from Array value")
    return found


def part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object within a body; nothing is an empty one. Raises ApiError."""
    found = body.get(name)
    if found is not None and not isinstance(found, dict):
        raise malformed(f"Cannot deserialize value of `{name}`: an object is expected")
    return found or {}


def parts(body: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """A list of objects within a body; nothing is an empty one. Raises ApiError."""
    found = body.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise malformed(f"Cannot deserialize value of `{name}`: a list of objects is expected")
    return found


def names(body: Mapping[str, Any], name: str) -> list[str]:
    """A list of texts within a body. Raises ApiError."""
    found = body.get(name)
    if found is not None and not isinstance(found, list):
        raise malformed(f"Cannot deserialize value of `{name}`: a list is expected")
    return [str(item) for item in found or ()]


def number(body: Mapping[str, Any], name: str) -> int:
    """A whole number that must be there. Raises ApiError."""
    found = body.get(name)
    if isinstance(found, bool) or not str(found).isdigit():
        raise malformed(f"Cannot deserialize value of type `int` from `{found}` ({name})")
    return int(str(found))


def malformed(reason: str, line: int = 1, column: int = 1) -> ApiError:
    return refuse(400, f"Invalid input JSON on line {line}, column {column}: {reason}")
