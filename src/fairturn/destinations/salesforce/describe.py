"""What an object's fields are, as the integration user sees them: asked when it is needed, and remembered for an hour.

GET /services/data/vXX.X/sobjects/{Object}/describe
https://developer.salesforce.com/docs/platform/api-rest/guide/resources-sobject-describe.html
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fairturn.decide.places import country, folded
from fairturn.destinations.salesforce.decode import problems_of
from fairturn.destinations.salesforce.wire import Part, Run, Wire, parsed
from fairturn.errors import DestinationError

FRESH: Final = 3_600.0  # seconds; fields change rarely, and an answer is some 100 KiB
PLACES: Final = ("", "Mailing")  # prefixes of the address that a Lead and a Contact have


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    length: int  # of text; 0 = not text
    createable: bool
    updateable: bool
    options: Mapping[str, str]  # of a picklist: folded value and label -> value; of two labels alike, none


@dataclass(frozen=True, slots=True)
class Shape:
    """`fields`: by name in lower case."""

    fields: Mapping[str, Field]

    def has(self, name: str) -> bool:
        return name.lower() in self.fields

    def length(self, name: str) -> int | None:
        found = self.fields.get(name.lower())
        return found.length or None if found else None

    def coded(self, record: Mapping[str, object]) -> dict[str, object]:
        """States and countries by their code, where the org keeps lists of them and this one is in the list.

        With a list, a country is right as its integration value or its code alone; the code is the same in every org.
        """
        found = dict(record)
        for prefix in PLACES:
            for name, code_name in (
                (f"{prefix}Country", f"{prefix}CountryCode"),
                (f"{prefix}State", f"{prefix}StateCode"),
            ):
                text, codes = found.get(name), self.fields.get(code_name.lower())
                if codes is None or not codes.options or not isinstance(text, str) or code_name in found:
                    continue
                code = codes.options.get(folded(text)) or codes.options.get(folded(country(text)))
                if code is not None:
                    found = {(code_name if key == name else key): (code if key == name else value)
                             for key, value in found.items()}  # fmt: skip
        return found


class Shapes:
    """Of the objects of one org."""

    def __init__(self, wire: Wire, name: str) -> None:
        self._wire = wire
        self._name = name
        self._known: dict[str, tuple[float, Shape]] = {}

    def known(self, sobject: str) -> Shape | None:
        """Without asking."""
        found = self._known.get(sobject)
        return found[1] if found else None

    async def of(self, run: Run, sobject: str) -> Shape:
        """Raises DestinationError."""
        now = asyncio.get_running_loop().time()
        found = self._known.get(sobject)
        if found is None or found[0] < now:
            found = self._known[sobject] = (now + FRESH, await self._ask(run, sobject))
        return found[1]

    async def _ask(self, run: Run, sobject: str) -> Shape:
        reply = await self._wire.send(run, Part("GET", self._wire.path(f"sobjects/{sobject}/describe")))
        body = parsed(reply.body)
        fields = body.get("fields") if isinstance(body, dict) else None
        if reply.status != 200 or not isinstance(fields, list):
            problems = problems_of(body)
            why = f"{problems[0].code}: {problems[0].words}" if problems else f"status {reply.status}"
            raise DestinationError(f"Destination {self._name} does not describe {sobject}: {why}")
        return shape(fields)


def shape(fields: list[Any]) -> Shape:
    found: dict[str, Field] = {}
    for row in fields:
        if isinstance(row, dict) and isinstance(row.get("name"), str):
            length = row.get("length")
            found[row["name"].lower()] = Field(
                row["name"],
                length if isinstance(length, int) and row.get("type") not in ("reference", "id") else 0,
                row.get("createable") is not False,
                row.get("updateable") is not False,
                _options(row.get("picklistValues")),
            )
    return Shape(found)


def _options(rows: Any) -> dict[str, str]:
    """A label that two values share (states of two countries) names neither."""
    found: dict[str, str] = {}
    shared: set[str] = set()
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict) or not isinstance(row.get("value"), str) or row.get("active") is False:
            continue
        for text in {folded(row["value"]), folded(str(row.get("label") or ""))} - {""}:
            if found.setdefault(text, row["value"]) != row["value"]:
                shared.add(text)
    return {text: value for text, value in found.items() if text not in shared}
