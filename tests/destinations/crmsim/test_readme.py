"""What the simulators' own page shows can be done as it stands."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from crmsim.cli import parser
from crmsim.faults import KINDS
from crmsim.hubspot.faulty import KINDS as HUBSPOT_KINDS

PAGE = (Path(__file__).parents[3] / "sims/README.md").read_text(encoding="utf-8")


def test_its_seed_can_be_planted(crm):
    [seed] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    crm.sim("/reset", {})
    made = crm.sim("/seed", json.loads(seed))
    assert len(made["people"]) == 300
    assert [len(made[name]) for name in ("users", "queues", "accounts", "leads")] == [1, 1, 1, 1]


def test_its_fault_plan_can_be_installed(crm):
    plan = next(line for line in PAGE.splitlines() if line.startswith('`{"seed": 1, "faults"'))
    assert [fault["kind"] for fault in crm.sim("/faults", json.loads(plan.strip("`")))["faults"]] == [
        "reset_after",
        "unavailable",
    ]


def test_it_names_every_kind_of_fault():
    table = PAGE.partition("## Faults")[2].partition("## Switches")[0]
    named = set(re.findall(r"`(\w+)`", table))
    assert set(KINDS) | set(HUBSPOT_KINDS) <= named


def test_it_names_every_control_endpoint(crm):
    """405 says that the path is there; a wrong body is 400. Only 404 is nothing."""
    table = PAGE.partition("## `/__sim__`")[2].partition("## People there")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `") and "(H)" not in line.split("|")[1]]
    paths = {path for line in rows for path in re.findall(r"(/[a-z-]+)(?:[?`/]|$)", line.split("|")[1])}
    assert len(paths) > 20
    missing = [path for path in sorted(paths) if crm.http.request("PUT", f"/__sim__{path}").status_code == 404]
    assert missing in ([], ["/records"])  # its path goes on with the object


@pytest.mark.parametrize("shown", sorted(set(re.findall(r"`(--[a-z-]+)", PAGE))))
def test_its_options_exist(shown):
    commands: Any = next(action for action in parser()._actions if action.dest == "command").choices
    assert any(option.startswith(shown) for option in commands["serve"]._option_string_actions)
