"""JMESPath at the border: where in a payload a value lies. Its errors end here.

Plain ways through objects (`email`, `person.email`, `answers[0]."First name"`) are walked without the interpreter, in
under a microsecond, and tell a missing key from a null; only they can say that a source cleared a field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

import jmespath
from jmespath import exceptions, functions

from fairturn.decide.typed import NotTaken, digits
from fairturn.errors import ConfigError, Fault

LONGEST: Final = 1000  # characters of an expression; its cost is bounded by its length times the payload's


class Missing:
    """The type of MISSING: nothing lies there (null is something)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
Path = Callable[[object], object]  # payload -> value, or MISSING


class Broken(Exception):
    """The expression does not fit this payload (say, a length of a number); the text says how."""


class ExactFunctions(functions.Functions):
    """The standard functions, but to_string gives the digits of a big number as they were written."""

    @functions.signature({"types": []})
    def _func_to_string(self, arg: object) -> str:
        if isinstance(arg, str):
            return arg
        if isinstance(arg, Decimal):
            return digits(arg)
        return json.dumps(arg, separators=(",", ":"), default=str)


OPTIONS: Final = jmespath.Options(custom_functions=ExactFunctions())
# What the interpreter raises for payloads that do not fit: its own errors, and Python's from deep or odd values.
MISFITS: Final = (
    exceptions.JMESPathError,
    NotTaken,
    RecursionError,
    ArithmeticError,
    ValueError,
    TypeError,
    AttributeError,
)


def path(expression: str, key: str = "") -> Path:
    """A way through payloads. Raises ConfigError with one fault, for `key` (a dotted path of the settings), when the
    expression does not parse or is longer than 1,000 characters. The way itself raises Broken, nothing else.
    """
    if len(expression) > LONGEST:
        raise ConfigError(
            (Fault(f"the expression has {len(expression)} characters", f"Keep it below {LONGEST}.", key=key),)
        )
    try:
        compiled = jmespath.compile(expression)
    except (exceptions.JMESPathError, RecursionError, ValueError) as error:
        what = " ".join(str(error).split("\n")[0].split()).removesuffix(", for expression:").rstrip(":")
        what = what.removeprefix("Invalid jmespath expression: ") or type(error).__name__
        fault = Fault(
            f"{expression!r} is not a JMESPath expression ({what})",
            "Write a name (email), a way (person.email) or, for a name with blanks or dots, '\"First Name\"' with both "
            "kinds of quotes.",
            key=key or None,
        )
        raise ConfigError((fault,)) from None
    steps = plain_steps(compiled.parsed)
    if steps is None:
        return interpreted(compiled)
    if len(steps) == 1 and isinstance(steps[0], str):
        return one_step(steps[0])
    return walked(steps)


def plain_steps(node: Mapping[str, object]) -> tuple[str | int, ...] | None:
    """The names and places of an expression that only walks; None when it does more."""
    children = node["children"]
    value = node.get("value")
    match node["type"]:
        case "field" if isinstance(value, str):
            return (value,)
        case "index" if isinstance(value, int):
            return (value,)
        case "identity":
            return ()
        case "subexpression" | "index_expression" if isinstance(children, list):
            steps: list[str | int] = []
            for child in children:
                found = plain_steps(child)
                if found is None:
                    return None
                steps.extend(found)
            return tuple(steps)
        case _:
            return None


def one_step(name: str) -> Path:
    def step(payload: object) -> object:
        return payload.get(name, MISSING) if isinstance(payload, dict) else MISSING

    return step


def walked(steps: tuple[str | int, ...]) -> Path:
    def walk(payload: object) -> object:
        here = payload
        for step in steps:
            if isinstance(step, str):
                if not isinstance(here, dict) or step not in here:
                    return MISSING
                here = here[step]
            else:
                if not isinstance(here, list) or not -len(here) <= step < len(here):
                    return MISSING
                here = here[step]
        return here

    return walk


def interpreted(compiled: jmespath.parser.ParsedResult) -> Path:
    """JMESPath answers null both for a null and for nothing, so null counts as missing here."""

    def search(payload: object) -> object:
        try:
            found = compiled.search(payload, options=OPTIONS)
        except MISFITS as error:
            raise Broken(" ".join(str(error).split())[:200] or type(error).__name__) from None
        return MISSING if found is None else found

    return search
