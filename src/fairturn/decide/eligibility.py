"""Who of a pool shares the turns now, and who of them may take this lead.

Sharing is about the rep (member of weight above 0, not paused); eligibility is about the lead (a rule's `require` and
`exclude`). The first moves shares, the second only choices: DESIGN's two sets of a turn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from fairturn.config import Pool, Rule, Settings
from fairturn.model import FieldValue

FROM_LEAD: Final = re.compile(r"\{\s*lead\.([a-z0-9_-]+)\s*\}")


def present(pool: Pool, reps_paused: Mapping[str, str]) -> frozenset[str]:
    """Members who share the pool's turns: weight above 0 and not paused (`reps_paused`: rep -> why)."""
    return frozenset(rep for rep, weight in pool.members.items() if weight > 0 and rep not in reps_paused)


def eligible(rule: Rule, pool: Pool, settings: Settings, values: Mapping[str, FieldValue]) -> frozenset[str] | None:
    """Members of weight above 0 who may take this lead, present or not; None = the rule filters nobody.

    `values` are the lead's plain fields with the derived ones. A requirement that the lead has no value for
    (`{lead.language}`, and nobody knows the language) filters nobody: an unknown is no reason to hold a lead.
    """
    wanted = requirements(rule, values)
    if not wanted and not rule.exclude:
        return None
    return frozenset(
        rep
        for rep, weight in pool.members.items()
        if weight > 0 and rep not in rule.exclude and not lacking(rep, wanted, settings)
    )


def requirements(rule: Rule, values: Mapping[str, FieldValue]) -> dict[str, str]:
    """Attribute -> the value that a rep must have, in the lead's own words where the rule says "{lead.x}"."""
    wanted = {}
    for attribute, text in rule.require.items():
        from_lead = FROM_LEAD.fullmatch(text.strip())
        value = values.get(from_lead[1]) if from_lead else text
        if value is not None and (said := spoken(value).strip()):
            wanted[attribute] = said
    return wanted


def lacking(rep: str, wanted: Mapping[str, str], settings: Settings) -> str | None:
    """The first attribute that the rep does not have as wanted. Letter case and blanks around do not matter."""
    attributes = settings.reps[rep].attributes if rep in settings.reps else {}
    for attribute, value in wanted.items():
        if folded(value) not in {folded(entry) for entry in attributes.get(attribute, ())}:
            return attribute
    return None


def why_not(
    rep: str,
    rule: Rule | None,
    pool: Pool,
    settings: Settings,
    values: Mapping[str, FieldValue],
    reps_paused: Mapping[str, str],
) -> str | None:
    """Why this rep cannot take this lead, as a sentence for people; None = they can."""
    name = settings.reps[rep].name if rep in settings.reps else rep
    if rep not in pool.members:
        return f"{name} is not in this pool."
    if pool.members[rep] == 0:
        return f"{name} has weight 0 here, so no lead goes to them."
    if rep in reps_paused:
        reason = reps_paused[rep].strip().rstrip(".")
        return f"{name} is paused: {reason}." if reason else f"{name} is paused."
    if rule is None:
        return None
    if rep in rule.exclude:
        return f'The rule "{rule.id}" leaves {name} out.'
    wanted = requirements(rule, values)
    if (attribute := lacking(rep, wanted, settings)) is not None:
        has = settings.reps[rep].attributes.get(attribute, ()) if rep in settings.reps else ()
        own = f"{name} has {', '.join(has)}" if has else f"{name} has none"
        return f'The rule "{rule.id}" wants {attribute} = {wanted[attribute]}, and {own}.'
    return None


def spoken(value: FieldValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def folded(text: str) -> str:
    return " ".join(text.casefold().split())
