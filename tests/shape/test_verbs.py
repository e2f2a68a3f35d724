"""`make` on a machine that lacks something says what, in one line, and stops."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLAIN = ("make", "sh", "echo", "sed", "touch", "mkdir", "rm", "cat")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine with make and a shell, on whose PATH no Python is; the checkout lies in `tree`."""
    tree, programs = tmp_path / "tree", tmp_path / "bin"
    (tree / "sims").mkdir(parents=True)
    programs.mkdir()
    for name in ("Makefile", "pyproject.toml", "sims/pyproject.toml"):
        shutil.copy(ROOT / name, tree / name)
    shutil.copytree(ROOT / "requirements", tree / "requirements")
    for name in PLAIN:
        if not (found := shutil.which(name)):
            pytest.skip(f"{name} is not on this machine")
        (programs / name).symlink_to(found)
    return tmp_path


def make(machine: Path, verb: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", verb],
        cwd=machine / "tree",
        env={"PATH": str(machine / "bin"), "HOME": str(machine), "LC_ALL": "C"},
        text=True,
        capture_output=True,
        check=False,
        timeout=60,
    )


def program(machine: Path, name: str, script: str) -> None:
    path = machine / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Lines of ours; make adds its own `make: *** [...] Error 1`."""
    return [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("make")]


def test_help_needs_nothing_and_is_the_default(machine):
    done = make(machine, "help")
    assert done.returncode == 0
    verbs = [line.split()[0] for line in done.stdout.splitlines()[2:]]
    assert {"setup", "check", "test", "demo", "bench", "docs"} <= set(verbs)


@pytest.mark.parametrize("verb", ["setup", "check", "test", "demo", "bench", "docs"])
def test_no_python(machine, verb):
    done = make(machine, verb)
    assert done.returncode != 0
    (line,) = said(done)
    assert "Python 3.11 or newer" in line
    assert "PYTHON=" in line


def test_a_python_that_is_too_old_is_passed_over(machine):
    program(machine, "python3", 'case "$*" in *version_info*) exit 1;; esac; echo too old >&2')
    (line,) = said(make(machine, "setup"))
    assert "Python 3.11 or newer" in line


def test_a_shim_for_a_version_that_is_not_there_is_passed_over(machine):
    """A version manager leaves names on the PATH that answer "command not found"; the next name is tried."""
    program(machine, "python3.13", "echo 'python3.13: command not found' >&2; exit 127")
    program(machine, "python3", 'case "$*" in *version_info*) exit 0;; esac; exit 1')
    (line,) = said(make(machine, "setup"))
    assert line.startswith("python3 ")


def test_debian_without_python3_venv(machine):
    program(
        machine, "python3", 'case "$*" in *ensurepip*) echo "Traceback: No module named ensurepip" >&2; exit 1;; esac'
    )
    done = make(machine, "setup")
    assert done.returncode != 0
    (line,) = said(done)
    assert "apt-get install python3-venv" in line
    assert not (machine / "tree/.venv").exists(), "half a virtual environment would look like a whole one next time"


def test_the_pipelines_script_is_one_that_runs():
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    assert "make test" in script.read_text()
