"""`fairturn demo` as a person runs it: real processes, real time, and nothing left behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.timeout(180), pytest.mark.xdist_group("demo")]


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """With a temporary folder of its own, so that whatever is left behind is found."""
    scratch = folder / "t"
    scratch.mkdir()
    scratch.chmod(0o755)
    return subprocess.Popen(
        [sys.executable, "-m", "fairturn", "demo", *arguments],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def left_behind(folder: Path) -> list[str]:
    """Files in the temporary folder, and processes that were started with it."""
    found = [str(path) for path in (folder / "t").iterdir()]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if str(folder / "t").encode() in line:
            found.append(line.replace(b"\0", b" ").decode())
    return found


def test_sixty_leads_in_six_seconds(tmp_path):
    out = tmp_path / "out.json"
    demo = start(tmp_path, "--leads", "60", "--seconds", "6", "--exit", "--json", str(out))
    said, complaint = demo.communicate(timeout=150)
    assert demo.returncode == 0, said + complaint
    found = json.loads(out.read_text())
    check(found, "salesforce", leads=60)
    assert found["api_calls"]["salesforce"] - found["reads"] <= 10
    assert found["reads"] <= 10
    assert "In the CRM: 60, lost 0, twice 0." in said
    assert "\x1b" not in said
    assert not left_behind(tmp_path)


def test_twenty_leads_in_two_seconds_into_hubspot(tmp_path):
    out = tmp_path / "out.json"
    options = ("--leads", "20", "--seconds", "2", "--crm-seconds", "0.1", "--exit", "--json", str(out))
    demo = start(tmp_path, "--crm", "hubspot", *options)
    said, complaint = demo.communicate(timeout=150)
    assert demo.returncode == 0, said + complaint
    check(json.loads(out.read_text()), "hubspot", leads=20)
    assert "contacts of a rep" in said
    assert not left_behind(tmp_path)


def check(found: dict[str, Any], crm: str, leads: int) -> None:
    wanted = {"leads": leads, "events": 3 * leads, "in_crm": leads, "lost": 0, "duplicated": 0, "failed": 0,
              "held": 0, "parked": 0, "failed_calls": 0, "calls_one_per_event": 3 * leads}  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted
    there = found["there"]
    assert there["people"] == leads / 5
    assert there["owners_kept"] == sum(there["kinds"][kind] for kind in ("rep", "colleague", "elsewhere", "customer"))
    assert there["assigned"] == there["people"] - there["owners_kept"]
    assert (there["owners_taken"], there["new_records"], there["written_over"]) == (0, 0, 0)
    # Everybody has an owner: a rep, or whoever had them and is none.
    assert found["owned"] == sum(there["kinds"][kind] for kind in ("colleague", "customer"))
    assert found["assigned"] == leads - found["owned"]
    assert sum(sum(pool["counts"].values()) for pool in found["pools"].values()) == found["assigned"]
    assert sum(pool["kept"]["crm"] for pool in found["pools"].values()) == there["owners_kept"] - found["owned"]
    assert all(pool["max_deviation"] < 1 for pool in found["pools"].values())
    assert 0 < found["reads"] < found["api_calls"][crm]


def test_ctrl_c_in_the_middle_ends_it_and_leaves_nothing(tmp_path):
    demo = start(tmp_path, "--leads", "300", "--seconds", "60")
    assert demo.stdout is not None
    for line in demo.stdout:
        if "events in" in line:
            break
    demo.send_signal(signal.SIGINT)
    _, complaint = demo.communicate(timeout=100)
    assert demo.returncode == 130
    assert "Stopped before there was a result" in complaint
    assert not left_behind(tmp_path)


def test_it_stays_up_until_it_is_stopped(tmp_path):
    demo = start(tmp_path, "--leads", "20", "--seconds", "2")
    assert demo.stdout is not None
    said = ""
    for line in demo.stdout:
        said += line
        if "Ctrl-C ends it" in line:
            break
    config = next(line.split()[-1] for line in said.splitlines() if line.startswith("Settings"))
    email = next(line.split()[2] for line in said.splitlines() if line.strip().startswith("fairturn why"))
    assert "@" in email
    audit = subprocess.run(
        [sys.executable, "-m", "fairturn", "audit", "--json", "--config", config], capture_output=True, check=True
    )
    assert json.loads(audit.stdout)["ok"]
    demo.send_signal(signal.SIGTERM)
    demo.communicate(timeout=100)
    assert demo.returncode == 0
    assert not left_behind(tmp_path)
