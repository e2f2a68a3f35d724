"""Rules: whether each can be used, whether a lead can reach it, whether every lead ends somewhere."""

from __future__ import annotations

from collections.abc import Iterator

from fairturn.config import DERIVED_FIELDS, Rule, Settings
from fairturn.decide.complaints import closest
from fairturn.decide.eligibility import FROM_LEAD, eligible
from fairturn.decide.rules import RuleBook, compile_rules
from fairturn.errors import ConfigError, Fault
from fairturn.operate.check_people import judge_owner
from fairturn.operate.check_sources import known_fields
from fairturn.operate.loaded import Loaded

ACTIONS = ("pool", "owner", "park", "ignore")


def judge(loaded: Loaded) -> Iterator[Fault]:
    yield from judge_ids(loaded)
    for number, rule in enumerate(loaded.settings.rules, 1):
        key = f"rules.{number}"
        yield from judge_action(loaded, key, rule)
        yield from judge_filters(loaded, key, rule)
    try:
        book = compile_rules(loaded.settings)
    except ConfigError as error:
        yield from (loaded.placed(fault) for fault in error.faults)
        return
    yield from judge_order(loaded, book)


def judge_ids(loaded: Loaded) -> Iterator[Fault]:
    seen: dict[str, int] = {}
    for number, rule in enumerate(loaded.settings.rules, 1):
        first = seen.setdefault(rule.id, number)
        if first != number:
            message = f'two rules have the id "{rule.id}", the other on line {loaded.line_of(f"rules.{first}.id")}'
            yield loaded.fault(f"rules.{number}.id", message, f'Call this one something else, say "{rule.id}-2"')


def judge_action(loaded: Loaded, key: str, rule: Rule) -> Iterator[Fault]:
    settings = loaded.settings
    named = [action for action in ACTIONS if getattr(rule, action) not in (None, False)]
    choices = 'pool = "...", owner = "...", park = "..." or ignore = true'
    if not named:
        yield loaded.fault(key, f'rule "{rule.id}" does not say what becomes of the lead', f"Add one of {choices}")
    elif len(named) > 1:
        yield loaded.fault(f"{key}.{named[1]}", f'rule "{rule.id}" says both {" and ".join(named)}', "Keep one of them")
    if rule.pool is not None and rule.pool not in settings.pools:
        remedy = closest(rule.pool, settings.pools, "Pools are")
        yield loaded.fault(f"{key}.pool", f'there is no pool "{rule.pool}"', remedy)
    if rule.owner is not None and rule.owner not in settings.reps:
        remedy = closest(rule.owner, settings.reps, "Reps are")
        yield loaded.fault(f"{key}.owner", f'there is no rep "{rule.owner}"', remedy)
    yield from judge_park(loaded, key, rule)


def judge_park(loaded: Loaded, key: str, rule: Rule) -> Iterator[Fault]:
    if isinstance(rule.park, str):
        if not loaded.settings.destinations:
            yield loaded.fault(
                f"{key}.park", "there is no destination to park leads in", "Add one, or write ignore = true"
            )
        for name in loaded.settings.destinations:
            yield from judge_owner(loaded, f"{key}.park", name, rule.park)
    elif rule.park is not None:
        if not rule.park:
            yield loaded.fault(f"{key}.park", "no queue is named", 'Write park = { salesforce = "Competitors" }')
        for name, owner in rule.park.items():
            yield from judge_owner(loaded, f"{key}.park.{name}", name, owner)


def judge_filters(loaded: Loaded, key: str, rule: Rule) -> Iterator[Fault]:
    settings = loaded.settings
    attributes = sorted({name for rep in settings.reps.values() for name in rep.attributes})
    fields = {**known_fields(settings), **DERIVED_FIELDS}
    for attribute, wanted in rule.require.items():
        place = f"{key}.require.{attribute}"
        if attribute not in attributes:
            remedy = closest(attribute, attributes, "Attributes of reps are")
            yield loaded.fault(place, f'no rep has an attribute "{attribute}"', remedy)
        if (found := FROM_LEAD.fullmatch(wanted)) and found[1] not in fields:
            remedy = closest(found[1], fields, "Fields are")
            yield loaded.fault(place, f'there is no lead field "{found[1]}"', remedy)
        elif not found and "{" in wanted:
            yield loaded.fault(place, f'"{wanted}" is no way to name a field', 'Write "{lead.language}"')
        elif not wanted.strip():
            yield loaded.fault(place, "the wanted value is empty", "Write one, or take the line out")
    for entry, rep in enumerate(rule.exclude, 1):
        if rep not in settings.reps:
            remedy = closest(rep, settings.reps, "Reps are")
            yield loaded.fault(f"{key}.exclude.{entry}", f'there is no rep "{rep}"', remedy)
    if all(name in attributes and wanted.strip() for name, wanted in rule.require.items()):
        yield from judge_nobody(loaded, key, rule)


def judge_nobody(loaded: Loaded, key: str, rule: Rule) -> Iterator[Fault]:
    """A filter that no member passes holds every lead."""
    settings = loaded.settings
    filters = rule.require or rule.exclude
    if rule.pool is None:
        if filters:
            field = "require" if rule.require else "exclude"
            message = f'rule "{rule.id}" filters reps, but gives its leads to no pool'
            yield loaded.warning(f"{key}.{field}", message, f"Take {field} out")
        return
    fixed = not any("{" in wanted for wanted in rule.require.values())
    chain = [settings.pools[name] for name in way_from(rule.pool, settings)]
    takes = any(weight for one in chain for weight in one.members.values())  # else that is the fault, and told
    if filters and fixed and takes and not any(eligible(rule, one, settings, {}) for one in chain):
        field = "require" if rule.require else "exclude"
        message = (
            f'nobody in pool "{rule.pool}" passes the filter of rule "{rule.id}", so its leads would be held for ever'
        )
        yield loaded.fault(f"{key}.{field}", message, "Give a member the attribute, or change the filter")


def way_from(pool: str, settings: Settings) -> list[str]:
    """The pool and all that it falls back to."""
    way: list[str] = []
    following: str | None = pool
    while following in settings.pools and following not in way:
        way.append(following)
        following = settings.pools[following].fallback
    return way


def judge_order(loaded: Loaded, book: RuleBook) -> Iterator[Fault]:
    everything = None
    for number, (rule, condition) in enumerate(zip(book.rules, book.conditions, strict=True), 1):
        if everything is not None:
            message = f'no lead reaches rule "{rule.id}": "{everything}" above takes them all'
            yield loaded.warning(f"rules.{number}", message, f'Move it above "{everything}", or take it out')
        elif condition.constant is True:
            everything = rule.id
        elif condition.constant is False:
            yield loaded.warning(f"rules.{number}.when", f'rule "{rule.id}" is never true', "Take it out")
    if everything is None:
        remedy = 'End with a rule for the rest: [[rules]] id = "rest", when = "true", pool = "..."'
        number = len(book.rules)
        yield loaded.fault(f"rules.{number}" if number else "", "a lead that matches no rule has nowhere to go", remedy)
