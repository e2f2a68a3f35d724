"""JSON values as fields take them: a wrong type is the whole request's fault, unless a switch says the row's."""

from datetime import UTC, date, datetime
from typing import Any

from crmsim.clock import datetime_text
from crmsim.salesforce.schema import TEXT_KINDS, Field


class WrongType(ValueError):
    """A JSON value that the field's type cannot be read from: the whole request is 400 (switch `type_error`)."""


def coerce(field: Field, value: Any, *, trim: bool) -> Any:
    """The value as it is stored: an empty text is null. Raises WrongType."""
    if trim and isinstance(value, str) and field.kind in TEXT_KINDS:
        value = value.strip()
    if value is None or value == "":
        return None
    if field.kind in TEXT_KINDS or field.kind in ("reference", "id"):
        if isinstance(value, str):
            return value
    elif field.kind == "boolean":
        if isinstance(value, bool) or (isinstance(value, str) and value.lower() in ("true", "false")):
            return value if isinstance(value, bool) else value.lower() == "true"
    elif field.kind in ("int", "double"):
        return _number(field, value)
    elif isinstance(value, str):
        return _moment(field, value)
    raise WrongType(_cannot(field.kind, value))


def _cannot(kind: str, value: Any) -> str:
    token = {
        bool: "VALUE_TRUE" if value is True else "VALUE_FALSE", int: "VALUE_NUMBER_INT", float: "VALUE_NUMBER_FLOAT",
        str: "VALUE_STRING", dict: "START_OBJECT", list: "START_ARRAY",
    }  # fmt: skip
    shown = "string" if kind in (*TEXT_KINDS, "reference", "id") else kind
    return (
        f"Cannot deserialize instance of {shown} from {token[type(value)]} value {value} "
        "or request may be missing a required field"
    )


def _number(field: Field, value: Any) -> float | int:
    try:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise ValueError
        number = int(value) if field.kind == "int" and not isinstance(value, float) else float(value)
    except ValueError:
        raise WrongType(_cannot(field.kind, value)) from None
    if field.kind == "int" and not -(2**31) <= number < 2**31:
        raise WrongType(f"Numeric value ({value}) out of range of int")
    return number


def _moment(field: Field, value: str) -> str:
    try:
        parsed: date = date.fromisoformat(value[:10]) if field.kind == "date" else datetime.fromisoformat(value)
    except ValueError:
        raise WrongType(_cannot(field.kind, value)) from None
    if not 1700 <= parsed.year <= 4000:  # SF-docs: valid dates
        raise WrongType(_cannot(field.kind, value))
    if not isinstance(parsed, datetime):
        return parsed.isoformat()
    zoned = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return datetime_text(zoned.timestamp())
