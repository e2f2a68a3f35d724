"""CEL's complaints in the words of who wrote the condition: what is wrong, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from fairturn.decide.conditions import FUNCTIONS, Vocabulary, mask

LOCATED: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
OVERLOAD: Final = re.compile(r"found no matching overload for '(.+?)' applied to '\((.*)\)'")
UNDECLARED: Final = re.compile(r"undeclared reference to '(.+?)'")
CEL_WORDS: Final = {
    "string": "text",
    "int": "a whole number",
    "double": "a number",
    "bool": "true or false",
    "null_type": "null",
    "google.protobuf.Timestamp": "a time",
    "list(string)": "a list of texts",
    "list(int)": "a list of whole numbers",
    "list(double)": "a list of numbers",
}
OPERATORS: Final = {"@in": "in", "_&&_": "&&", "_||_": "||", "!_": "!", "_?_:_": "? :"}
ALIASES: Final = {
    "lower": "lowerAscii", "lowercase": "lowerAscii", "tolower": "lowerAscii",
    "upper": "upperAscii", "uppercase": "upperAscii", "toupper": "upperAscii",
    "strip": "trim", "len": "size", "length": "size", "count": "size", "regex": "matches", "match": "matches",
    "includes": "contains", "begins_with": "startsWith", "starts_with": "startsWith", "ends_with": "endsWith",
}  # fmt: skip
EXAMPLES: Final = {
    "lead": "lead.country",
    "known": "known.country",
    "event": "event.source",
    "org": "org.own_domains",
}
# Habits of other languages, looked for outside of quotes and in this order.
HABITS: Final = (
    (r"[“”„‘’]", "typographic quotes are not quotes here", 'write straight ones: "US"'),
    (r"===", "there is no '==='", "write '=='"),
    (r"<>", "there is no '<>'", "write '!='"),
    (r"=~", "there is no '=~'", 'write lead.title.matches("(?i)chief")'),
    (r"(?<![=!<>])=(?!=)", "one '=' sets a value, and a condition compares", "write '=='"),
    (r"(?i)\bnot\s+in\b", "there is no 'not in'", 'write !(lead.country in ["US", "CA"])'),
    (r"(?i)\bis\s+not\b", "there is no 'is not'", "write '!='"),
    (r"(?i)\band\b", "there is no 'and'", "write '&&'"),
    (r"(?i)\bor\b", "there is no 'or'", "write '||'"),
    (r"(?i)\bnot\b", "there is no 'not'", "write '!' before a condition in parentheses: !(lead.country == \"US\")"),
    (r"(?i)\bis\b", "there is no 'is'", "write '=='"),
    (r"(?i)\blike\b", "there is no 'like'", 'write lead.title.contains("chief") or .matches("(?i)chief")'),
    (r"(?<!&)&(?!&)", "one '&' is not 'and'", "write '&&'"),
    (r"(?<!\|)\|(?!\|)", "one '|' is not 'or'", "write '||'"),
    (r"\bif\b", "a condition needs no 'if'", "leave the 'if' out"),
    (r";", "a condition ends without ';'", "leave the ';' out"),
    (r"\b(lead|known)\s*\[", "a field is named with a dot", "write lead.country"),
)


class ConditionError(Exception):
    """A condition that cannot be used. `line` counts from 1 within the condition, `column` too (0: the whole)."""

    def __init__(self, message: str, remedy: str, line: int = 1, column: int = 0) -> None:
        super().__init__(f"{message}. {remedy}")
        self.message = message
        self.remedy = remedy
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the condition's text."""

    text: str
    line: int
    column: int

    @property
    def offset(self) -> int:
        return sum(len(line) + 1 for line in self.text.split("\n")[: self.line - 1]) + self.column - 1

    def around(self) -> tuple[str, str]:
        """The operands left and right of an operator that stands here."""
        left = re.search(r"([\w.]+(?:\([^()]*\))?|\"[^\"]*\"|'[^']*')\s*$", self.text[: self.offset])
        right = re.match(r"(?:==|!=|<=|>=|<|>|&&|\|\||[-+*/%!]|in\b)?\s*([\w.]+|\"[^\"]*\"|'[^']*'|\[[^\]]*\])",
                         self.text[self.offset :])  # fmt: skip
        return (left[1] if left else "the left side", right[1] if right else "the right side")


def habit(text: str) -> ConditionError | None:
    """The first habit of another language that the text shows."""
    bare = mask(text)
    for pattern, message, remedy in HABITS:
        if found := re.search(pattern, bare):
            return ConditionError(message, capital(remedy), *place(text, found.start()))
    return None


def translate(complaint: str, text: str, vocabulary: Vocabulary) -> ConditionError:
    """`complaint` is what the compiler said of `text`; the first finding counts, the rest are its echoes."""
    located = LOCATED.search(complaint)
    if located is None:
        if "recursion" in complaint:
            return ConditionError("the condition is nested too deeply", "Split it into several rules")
        return ConditionError(
            f"the condition cannot be read: {complaint.strip()[:200]}", "Write it anew, in small steps"
        )
    spot = Spot(text, int(located[1]), int(located[2]))
    said = located[3].split(" [INVALID_ARGUMENT]")[0]
    if undeclared := UNDECLARED.search(said):
        return unknown(undeclared[1].lstrip("."), spot, vocabulary)
    if overload := OVERLOAD.search(said):
        return mistyped(overload[1], re.split(r", (?![^(]*\))", overload[2]), spot)
    if "operand of a select" in said:
        return ConditionError("a field's value has no parts of its own", "Write lead.<field> and nothing behind it",
                              spot.line, spot.column)  # fmt: skip
    if "reserved identifier" in said:
        word = said.rsplit(":", 1)[-1].strip()
        return ConditionError(f"{word!r} is a reserved word", "Leave it out", spot.line, spot.column)
    return syntax(said, spot)


def unknown(name: str, spot: Spot, vocabulary: Vocabulary) -> ConditionError:
    at = (spot.line, spot.column)
    if spot.text[spot.offset : spot.offset + 1] == "(":
        return unknown_function(name, at)
    if "." in name:
        return ConditionError(f"there is no {name}", nearest_name(name, vocabulary), *at)
    if name in EXAMPLES:
        return ConditionError(f"{name!r} alone is no value", f"Name what you mean: {EXAMPLES[name]}", *at)
    if name in {"True", "False", "TRUE", "FALSE"}:
        return ConditionError(f"{name} is written small", f"Write {name.lower()}", *at)
    if name.lower() in {"none", "nil", "null", "undefined"}:
        remedy = "Ask whether a field has a value: known.country or !known.country"
        return ConditionError(f"there is no {name}", remedy, *at)
    if name in vocabulary.fields or name == "source":
        whole = "event.source" if name == "source" else f"lead.{name}"
        return ConditionError(f"{name} needs to say whose it is", f"Write {whole}", *at)
    near = get_close_matches(name, vocabulary.fields, n=1, cutoff=0.8)
    remedy = f"Did you mean lead.{near[0]}?" if near else f'If it is a text, put it in quotes: "{name}"'
    return ConditionError(f"{name} is no name that a condition knows", remedy, *at)


def nearest_name(name: str, vocabulary: Vocabulary) -> str:
    """A remedy for a qualified name that does not exist."""
    room, _, rest = name.partition(".")
    near = get_close_matches(name.lower(), vocabulary.names, n=1, cutoff=0.75)
    if room in {"lead", "known"} and not near:
        near = [f"{room}.{guess}" for guess in get_close_matches(rest.lower(), vocabulary.fields, n=1)]
    if near:
        return f"Did you mean {near[0]}?"
    if room == "lead" and re.fullmatch(r"[a-z][a-z0-9_]*", rest):
        return f'A field of your own is declared first: [fields] {rest} = "text"'
    return "The names are lead.<field>, known.<field>, event.source, org.own_domains and org.competitors"


def unknown_function(name: str, at: tuple[int, int]) -> ConditionError:
    bare = name.rsplit(".", 1)[-1]
    if bare in FUNCTIONS:
        remedy = f"It stands behind the text that it looks at: lead.email.{bare}(...)"
        return ConditionError(f"{bare}() cannot stand there", remedy, *at)
    if bare in {"now", "today"}:
        return ConditionError(
            f"there is no {bare}()", "A condition looks at the lead and its source, not at the clock", *at
        )
    near = ALIASES.get(bare.lower()) or next(
        iter(get_close_matches(bare.lower(), [name.lower() for name in FUNCTIONS], n=1)), None
    )
    right = next((known for known in FUNCTIONS if near and known.lower() == near.lower()), None)
    remedy = f"Did you mean {right}()?" if right else f"Known are: {', '.join(FUNCTIONS[:14])}"
    return ConditionError(f"there is no function {bare}()", remedy, *at)


def mistyped(operator: str, types: list[str], spot: Spot) -> ConditionError:
    at = (spot.line, spot.column)
    left, right = spot.around()
    kinds = [CEL_WORDS.get(kind, kind) for kind in types]
    shown = OPERATORS.get(operator, operator.strip("_"))
    if operator.startswith(("_==", "_!=", "_<", "_>")) and len(types) == 2:
        return miscompared(left, right, types, at)
    if operator == "@in" and types[-1] == "string":
        remedy = 'Write lead.title.contains("chief"), or a list: lead.country in ["US", "CA"]'
        return ConditionError(f"'in' looks in a list, and {right} is text", remedy, *at)
    if operator == "@in":
        return ConditionError(f"{left} is {kinds[0]}, but the list holds something else",
                              number_remedy(types[0]) or 'Write every entry in quotes: ["US", "CA"]', *at)  # fmt: skip
    if shown in {"&&", "||", "!", "? :"}:
        wrong = next((kind for kind in kinds if kind != "true or false"), "no condition")
        remedy = "Compare it with something, or ask known.<field> whether there is a value"
        return ConditionError(f"'{shown}' joins conditions, and one side is {wrong}", remedy, *at)
    return ConditionError(f"{shown} cannot be applied to {' and '.join(kinds) or 'nothing'}",
                          "Numbers go with numbers, texts with texts in quotes", *at)  # fmt: skip


def miscompared(left: str, right: str, types: list[str], at: tuple[int, int]) -> ConditionError:
    kinds = [CEL_WORDS.get(kind, kind) for kind in types]
    if "null_type" in types:
        field = left if types[1] == "null_type" else right
        name = field.removeprefix("lead.")
        return ConditionError("a value is never null here: it is known or it is not",
                              f"Write known.{name}, or !known.{name}", *at)  # fmt: skip
    message = f"{left} is {kinds[0]}, but {right} is {kinds[1]}"
    if types[1] == "string" and types[0] in {"int", "double"}:
        inner = right.strip("\"'")
        number = inner.replace(",", "").replace(" ", "")
        digits = number.replace(".", "", 1).lstrip("-").isdigit()
        return ConditionError(message, f"Write {number}, not {right}" if digits else "Compare it with a number", *at)
    if right.startswith(("lead.", "known.", "event.")):
        return ConditionError(message, "Both sides have to be of one kind", *at)
    if types[0] == "string" and types[1] in {"int", "double", "bool"}:
        return ConditionError(message, f'Write "{right}", with quotes', *at)
    if types == ["int", "double"]:
        remedy = f"Write {float(right):.0f}" if re.fullmatch(r"[\d.eE]+", right) else "Write a whole number"
        return ConditionError(message, f"{remedy}, without a point", *at)
    if types == ["bool", "string"]:
        return ConditionError(message, "Write true or false, without quotes", *at)
    if types[0].endswith("Timestamp"):
        return ConditionError(message, 'Write timestamp("2026-01-31T00:00:00Z")', *at)
    return ConditionError(message, "Both sides have to be of one kind", *at)


def number_remedy(kind: str) -> str | None:
    if kind == "double":
        return "Write every number with a point: [1.0, 2.0]"
    return "Write whole numbers without quotes: [1, 2]" if kind == "int" else None


def syntax(said: str, spot: Spot) -> ConditionError:
    at = (spot.line, spot.column)
    rest = mask(spot.text)
    if rest.count("(") > rest.count(")"):
        return ConditionError("a parenthesis is not closed", "Add a ')'", *at)
    if rest.count(")") > rest.count("("):
        return ConditionError("there is a ')' too many", "Take it out, or add the '('", *at)
    if "\\" in spot.text and "token recognition" in said:
        return ConditionError("a backslash in quotes starts an escape that does not exist",
                              'Write r before the quotes: lead.phone.matches(r"^\\+44")', *at)  # fmt: skip
    if re.search(r"[\"']", rest):
        return ConditionError("a quote is not closed", 'Texts stand between two straight quotes: "US"', *at)
    if spot.offset >= len(spot.text.rstrip()):
        return ConditionError("the condition stops in the middle", "Write what comes after the last operator", *at)
    found = spot.text[spot.offset : spot.offset + 20].split("\n")[0]
    return ConditionError(f"the condition cannot be read from {found!r} on",
                          'A condition looks like: lead.country == "US" && lead.employees >= 50', *at)  # fmt: skip


def place(text: str, offset: int) -> tuple[int, int]:
    """Line and column, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - before.rfind("\n")


def capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def closest(value: str, known: Iterable[str], otherwise: str) -> str:
    """A remedy: the nearest of the known names, or a list of them."""
    names = sorted(known)
    near = get_close_matches(value.lower(), names, n=1, cutoff=0.6)
    return f"Did you mean {near[0]}?" if near else f"{otherwise}: {', '.join(names[:12]) or 'none yet'}"
