"""On what it was measured, and when: the head and the foot of the page."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill

from bench.page.rows import Found
from bench.paper import markdown


def machines(found: Mapping[str, Found]) -> list[str]:
    """Each kind of machine once; usually one."""
    return list(dict.fromkeys(machine(result) for result in found.values()))


def machine(result: Found) -> str:
    facts = result["machine"]
    return (
        f"{facts['cores']} cores ({facts['cpu']}), {facts['system']}, Python {facts['python']}, "
        f"PostgreSQL {facts['postgresql']}"
    )


def before(found: Mapping[str, Found]) -> str:
    told = fill(MACHINE.format(machines="; ".join(machines(found))), width=120, break_on_hyphens=False)
    return HEAD.format(told=told)


def where_from(found: Mapping[str, Found]) -> str:
    versions: dict[str, list[str]] = {}
    for result in found.values():
        for part, number in result["machine"]["versions"].items():
            if number not in versions.setdefault(part, []):
                versions[part].append(number)
    rows = [
        (f"`{name}.json`", facts["at"], str(facts["commit"]), f"{facts['load_before']:.1f}")
        for name, result in found.items()
        for facts in [result["machine"]]
    ]
    told = ", ".join(f"{part} {' and '.join(numbers)}" for part, numbers in versions.items())
    told = fill(f"{told}. {LOAD}", width=120, break_on_hyphens=False)
    return FOOT.format(table=markdown(("results", "begun", "commit", "load before"), rows), versions=told)


MACHINE = """\
Written by `python -m bench page` from `bench/results/*.json`; a test compares the two, and the pictures with the same
figures. Machine: {machines}. It does everything, the load and the simulated CRMs included; the database has the
settings that Fairturn ships: every commit is flushed to disk before the answer. Absolute figures are this machine's;
ratios hold elsewhere. What the two articles say that this began with is [a page of its own](the-two-articles.md).
"""

HEAD = """\
# What was measured

{told}

To repeat: `make bench` is a short run of everything, in under five minutes. Each section names the command of the
figures below it; with `--keep FOLDER` it leaves its results there, and `python -m bench page --from FOLDER` makes this
page, with its pictures, of them.
"""

FOOT = """\
## Where the figures come from

{table}

{versions}
"""

LOAD = "*Load before*: how busy the machine was with other things when the run began."
