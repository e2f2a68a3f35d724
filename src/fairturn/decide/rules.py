"""Which rule a lead falls under: the first, in the order of the settings, whose condition is true.

What a condition makes of odd values, for `lead.country != "US"` and `lead.employees > 100`:

    country    missing, null, "", "  "     no answer: the rule does not match (nor would its negation)
               " us "                      mapping trims it: "us", which is not "US": true (upperAscii() evens it)
               "US"                        false
               "USA"                       true: rules compare what is there
    employees  250, "250", "1,200"         mapping makes whole numbers of them: true
               null, "many"                no answer: the rule does not match

Text and number never compare: that is refused when the settings are loaded. The last rule catches everything, so every
lead ends somewhere.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cel_expr_python import cel

from fairturn.config import Rule, Settings
from fairturn.decide.complaints import ConditionError, closest, habit, place, translate
from fairturn.decide.conditions import (
    WORDS,
    Condition,
    Vocabulary,
    bind,
    mask,
    names_in,
    vocabulary,
    whole_literals,
    widen,
)
from fairturn.errors import ConfigError, Fault
from fairturn.model import FieldValue

Answer = tuple[str, bool | None, str]  # rule id; matches, does not, or no answer; why, as a clause
LITERAL: Final = r"(\"[^\"\\]*\"|'[^'\\]*')"


@dataclass(frozen=True, slots=True)
class RuleBook:
    """The rules, compiled. `values` everywhere are the lead's plain fields with the derived ones among them."""

    rules: tuple[Rule, ...]
    conditions: tuple[Condition, ...]  # one per rule
    words: Vocabulary
    used: tuple[str, ...]  # qualified names that any rule reads

    def decide(self, values: Mapping[str, FieldValue], source: str, paused: Container[str] = ()) -> Rule | None:
        """The rule that the lead falls under; None only where no rule catches the rest.

        A rule that names an owner who is paused is passed over: the lead goes on to the next that matches.
        """
        activation = None
        for rule, condition in zip(self.rules, self.conditions, strict=True):
            if rule.owner is not None and rule.owner in paused:
                continue
            if condition.constant is None:
                activation = activation or self._activation(values, source)
                if answer(condition, activation) is True:
                    return rule
            elif condition.constant:
                return rule
        return None

    def explain(self, values: Mapping[str, FieldValue], source: str, absent: Container[str] = ()) -> tuple[Answer, ...]:
        """Every rule's answer with its reason, also below the one that decides."""
        activation = self._activation(values, source)
        found = []
        for rule, condition in zip(self.rules, self.conditions, strict=True):
            said = condition.constant if condition.constant is not None else answer(condition, activation)
            truth = said if isinstance(said, bool) else None
            why = self._why(condition, said, values, source)
            if truth and rule.owner is not None and rule.owner in absent:
                truth, why = False, f"its owner {rule.owner} is paused"
            found.append((rule.id, truth, why))
        return tuple(found)

    def _activation(self, values: Mapping[str, FieldValue], source: str) -> object:
        # One per lead, with only what some rule reads: 1.6 us a rule, where a fresh one for each rule takes 5.
        bound: dict[str, object] = {}
        for name in self.used:
            room, _, field = name.partition(".")
            if room == "lead":
                value = bind(self.words.fields[field], values.get(field))
                if value is not None:
                    bound[name] = value
            elif room == "known":
                bound[name] = bind(self.words.fields[field], values.get(field)) is not None
            elif name == "event.source":
                bound[name] = source
            else:
                bound[name] = self.words.constants[name]
        return self.words.environment.Activation(bound)

    def _why(self, condition: Condition, said: object, values: Mapping[str, FieldValue], source: str) -> str:
        if condition.constant is not None:
            return "it holds for every lead" if condition.constant else "it holds for no lead"
        shown = [self._shown(name, values, source) for name in condition.names]
        if isinstance(said, bool):
            return ", ".join(shown)
        missing = [text for name, text in zip(condition.names, shown, strict=True) if self._absent(name, values)]
        return ", ".join(missing) or f"it has no answer ({said})"

    def _absent(self, name: str, values: Mapping[str, FieldValue]) -> bool:
        room, _, field = name.partition(".")
        return room == "lead" and bind(self.words.fields[field], values.get(field)) is None

    def _shown(self, name: str, values: Mapping[str, FieldValue], source: str) -> str:
        room, _, field = name.partition(".")
        if room == "org":
            return f"{name} is your list"
        if name == "event.source":
            return f"{name} is {source!r}"
        kind, value = self.words.fields[field], values.get(field)
        usable = bind(kind, value)
        if room == "known":
            return f"{name} is {'true' if usable is not None else 'false'}"
        if usable is not None:
            return f"{name} is {str(value).lower() if isinstance(value, bool) else repr(value)}"
        if value is None or (isinstance(value, str) and not value.strip()):
            return f"{name} has no value"
        return f"{name} is {value!r}, which is not {WORDS[kind]}"


def answer(condition: Condition, activation: object) -> object:
    """True or False, or the evaluator's words where there is no answer.

    An ERROR value reads as a truthy string, so only a bool counts.
    """
    try:
        said = condition.program.eval(activation).plain_value()
    except RuntimeError as error:  # how the C++ side raises everything
        return str(error)
    return said if isinstance(said, bool) else str(said)


def compile_rules(settings: Settings) -> RuleBook:
    """Raises ConfigError with one fault per condition that cannot be used, keyed `rules.<n>.when`, n from 1."""
    words = vocabulary(settings)
    conditions: list[Condition] = []
    faults: list[Fault] = []
    for number, rule in enumerate(settings.rules, 1):
        try:
            conditions.append(compile_condition(rule.when, words))
        except ConditionError as error:
            faults.append(fault(number, rule, error))
    if faults:
        raise ConfigError(tuple(faults))
    used = tuple(dict.fromkeys(name for condition in conditions for name in condition.names))
    return RuleBook(settings.rules, tuple(conditions), words, used)


def fault(number: int, rule: Rule, error: ConditionError) -> Fault:
    """`line` is the line within the condition; who knows the file adds where the condition starts."""
    column = f", column {error.column}" if error.column else ""
    where = f" (line {error.line}{column})" if "\n" in rule.when.strip() else f" ({column[2:]})" if column else ""
    message = f'rule "{rule.id}": {error.message}{where}'
    return Fault(message=message, remedy=error.remedy, line=error.line, key=f"rules.{number}.when")


def compile_condition(text: str, words: Vocabulary) -> Condition:
    """Raises ConditionError: what is wrong, and what to write instead."""
    refuse_by_name(text)
    ends = whole_literals(text, words.fields)
    wide = widen(text, ends)
    try:
        program = words.environment.compile(wide)
    except RuntimeError as error:
        raise habit(text) or unwidened(translate(str(error), wide, words), text, ends) from None
    if program.return_type() != cel.Type.BOOL:
        if re.search(r"\bhas\s*\(", text):
            raise ConditionError("there is no has()", "Write known.country")
        raise ConditionError(
            "it is no condition: it gives a value, not true or false",
            f"Compare it with something: {text.strip()[:40]} == ...",
        )
    refuse_what_never_matches(text, words)
    names = names_in(text)
    constant = None
    if not names:
        said = program.eval(data={}).plain_value()
        if not isinstance(said, bool):
            raise ConditionError(f"it never has an answer ({said})", "Name a field of the lead in it")
        constant = said
    return Condition(text, program, names, constant)


def unwidened(error: ConditionError, text: str, ends: Sequence[int]) -> ConditionError:
    """The place in the text as it was written: every literal widened before it on its line moved it by two."""
    places = [place(text, end) for end in ends]
    for line, column in places:
        if line == error.line and column < error.column:
            error.column -= len(".0")
    return error


def refuse_by_name(text: str) -> None:
    """What the compiler takes and we do not: presence tests on names, untyped values, text that grows."""
    bare = mask(text)
    if found := re.search(r"\bhas\s*\(\s*(?:lead\.)?(\w*)", bare):
        remedy = f"Write known.{found[1] or 'country'}"
        raise ConditionError("there is no has() here", remedy, *place(text, found.start()))
    if found := re.search(r"(?<![\w.])dyn\s*\(", bare):
        raise ConditionError("dyn() switches the types off", "Leave it out", *place(text, found.start()))
    if found := re.search(r"\.\s*(join|format)\s*\(", bare):
        remedy = "Compare the parts one by one"
        raise ConditionError(f"{found[1]}() builds text, and a condition only looks at it", remedy,
                             *place(text, found.start()))  # fmt: skip
    replaces = list(re.finditer(r"\.\s*replace\s*\(", bare))
    if len(replaces) > 1:
        remedy = "Use matches() with a pattern"
        raise ConditionError("replace() may stand once in a condition", remedy, *place(text, replaces[1].start()))
    for call in re.finditer(r"(?<![\w.])(?:lead|known|event|org)(?:\s+\.|\.\s+)", bare):
        raise ConditionError("there is a blank beside a dot", "Leave it out", *place(text, call.start()))


def refuse_what_never_matches(text: str, words: Vocabulary) -> None:
    """What passes the types and is still never true: a blank, a value outside a closed set, a broken pattern."""
    for found in re.finditer(r"(?<![\w.])lead\.(\w+)\s*(==|!=)\s*(?:\"\s*\"|'\s*')", text):
        write = f"!known.{found[1]}" if found[2] == "==" else f"known.{found[1]}"
        raise ConditionError("a blank counts as no value, so this never has an answer", f"Write {write}",
                             *place(text, found.start()))  # fmt: skip
    for name, known in words.closed.items():
        for value, offset in compared(text, name):
            if value not in known:
                raise ConditionError(
                    f"{name} is never {value!r}", closest(value, known, "It is one of"), *place(text, offset)
                )
    for found in re.finditer(r"\.matches\(\s*([rR]?(?:\"[^\"\n]*\"|'[^'\n]*'))\s*\)", text):
        said = words.environment.compile(f'"".matches({found[1]})').eval(data={}).plain_value()
        if not isinstance(said, bool):
            raise ConditionError(f"the pattern cannot be used: {str(said).split(': ', 1)[-1]}",
                                 "Patterns are RE2: https://github.com/google/re2/wiki/Syntax",
                                 *place(text, found.start(1)))  # fmt: skip


def compared(text: str, name: str) -> Iterable[tuple[str, int]]:
    """The literals that `name` is compared with, with their offsets."""
    start = rf"(?<![\w.]){re.escape(name)}\s*"
    for found in re.finditer(rf"{start}(?:==|!=)\s*{LITERAL}", text):
        yield found[1][1:-1], found.start(1)
    for found in re.finditer(rf"{start}in\s*\[([^\]]*)\]", text):
        for entry in re.finditer(LITERAL, found[1]):
            yield entry[1][1:-1], found.start(1) + entry.start()
