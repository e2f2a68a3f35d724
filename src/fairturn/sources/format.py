"""What a vendor's webhook format is: data, and one function over JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Flatten = Callable[[object], object]


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    about: str  # one sentence for people
    flatten: Flatten  # payload -> payload with what JMESPath cannot reach laid open; never raises, drops nothing needed
    sample: str  # a realistic body, in the repository
    content_type: str = "application/json"
    verify: Mapping[str, str] = field(default_factory=dict)  # settings of [sources.x.verify] but for the secrets
    map: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)  # a mapping to begin with; takes the sample
    ids: Mapping[str, str] = field(default_factory=dict)
    dedupe: str | None = None  # the delivery's own id, in the payload as it came
    occurred_at: str | None = None


def objects(value: object) -> list[dict[str, object]]:
    """The objects of a list; nothing else is trusted to be there."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def inner(payload: object, name: str) -> dict[str, object]:
    """The object under this name, or an empty one."""
    found = payload.get(name) if isinstance(payload, dict) else None
    return found if isinstance(found, dict) else {}
