"""Which handler a path and method mean. A path is matched segment by segment; `{name}` takes any one segment."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from crmsim.wire import Answer

Handler = Callable[..., Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Route:
    """`kind` is what evidence and fault plan call it; `scope` what the app must have been granted, if anything."""

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


@dataclass(frozen=True, slots=True)
class Found:
    route: Route
    names: dict[str, str]


def route(line: str, kind: str, handler: Handler, scope: str = "") -> Route:
    """`line` is a method and a path, such as `GET limits`; the method alone means the root."""
    method, _, path = line.partition(" ")
    return Route(method, tuple(path.split("/")) if path else (), kind, handler, scope)


def find(routes: Sequence[Route], method: str, segments: Sequence[str]) -> Found | list[str]:
    """The route and its names, or the methods that the path allows (none: no such path)."""
    allowed = []
    for known in routes:
        names = known.match(segments)
        if names is None:
            continue
        if known.method == method or (method == "HEAD" and known.method == "GET"):
            return Found(known, names)
        allowed.append(known.method)
    return sorted(set(allowed))
