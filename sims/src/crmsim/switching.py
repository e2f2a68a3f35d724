"""Switches are changed alike in every simulator: all that a document names, or none."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

Choices = Mapping[str, tuple[Any, ...]]


def change(switches: Any, values: Mapping[str, Any], choices: Choices) -> None:
    """Set some of its fields. Raises ValueError for an unknown name, a wrong type or a word that is no choice."""
    known = {item.name: type(getattr(switches, item.name)) for item in fields(switches)}
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"no switch {name!r}; there are {', '.join(known)}")
        kind = known[name]
        allowed = {float: (int, float), tuple: (list, tuple)}.get(kind, (kind,))
        if not isinstance(value, allowed) or (kind is not bool and isinstance(value, bool)):
            raise ValueError(f"switch {name} takes a {'list' if kind is tuple else kind.__name__}, not {value!r}")
        if value not in choices.get(name, (value,)):
            raise ValueError(f"switch {name} must be one of {', '.join(map(str, choices[name]))}")
    for name, value in values.items():
        setattr(switches, name, tuple(map(str, value)) if known[name] is tuple else value)
