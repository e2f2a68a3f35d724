"""The storeys of the house are held by contracts in pyproject.toml; here we see that the contracts bite."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = [
    "cli", "assemble", "intake", "api", "dashboard", "operate", "flow", "stores", "destinations", "sources",
    "desk", "ports", "decide", "config", "telemetry", "views", "model", "errors", "quick",
]  # fmt: skip
WORDS = ("model", "errors", "quick")
STOREYS = "Imports point down"
PURE = "Decisions are values in"
CONCRETE = "Only assemble knows"
WIRE = "The simulators share nothing"


def lint(root: Path) -> tuple[int, list[str], str]:
    """Exit code, the names of the broken contracts, and all that was said."""
    linter = Path(sys.executable).with_name("lint-imports")
    env = os.environ | {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root / 'sims/src'}", "COLUMNS": "200"}
    done = subprocess.run(
        [linter, "--no-cache", "--no-logo"], cwd=root, env=env, text=True, capture_output=True, check=False
    )
    said = done.stdout + done.stderr
    broken = [line.removesuffix(" BROKEN") for line in said.splitlines() if line.endswith(" BROKEN")]
    return done.returncode, broken, said


@pytest.fixture
def skeleton(tmp_path: Path) -> Path:
    """Every room of the house, empty, under the contracts in force."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in ("src/fairturn", "sims/src/crmsim", *(f"src/fairturn/{room}" for room in ROOMS)):
        (tmp_path / package).mkdir(parents=True)
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "src/fairturn/__main__.py").touch()
    return tmp_path


def test_the_house_keeps_its_contracts():
    code, broken, said = lint(ROOT)
    assert code == 0, f"broken: {broken}\n{said}"


def test_arrows_that_point_down_are_fine(skeleton):
    write(skeleton, "flow/route.py", "import asyncio\nfrom fairturn.decide import fairness\nfrom fairturn import ports")
    write(skeleton, "ports/__init__.py", "from fairturn.decide import fairness")
    write(skeleton, "decide/fairness.py", "import math\nfrom fairturn import model")
    write(skeleton, "assemble/__init__.py", "from fairturn.stores import postgres\nfrom fairturn import dashboard")
    write(skeleton, "stores/postgres.py", "import asyncpg\nfrom fairturn import ports")
    write(skeleton, "cli/__init__.py", "from fairturn import assemble")
    code, broken, said = lint(skeleton)
    assert (code, broken) == (0, []), said


@pytest.mark.parametrize(
    ("module", "line", "contracts"),
    [
        ("model/extra.py", "from fairturn import flow", {STOREYS}),
        ("flow/route.py", "from fairturn import stores", {STOREYS, CONCRETE}),
        ("operate/check.py", "from fairturn.stores import postgres", {CONCRETE}),
        ("cli/serve.py", "from fairturn import destinations", {CONCRETE}),
        ("dashboard/page.py", "from fairturn import api", {STOREYS}),
        ("decide/fairness.py", "import random", {PURE}),
        ("decide/pacing.py", "from time import monotonic", {PURE}),
        ("decide/rules.py", "from fairturn import ports", {STOREYS}),
        ("errors/extra.py", "import asyncpg", {PURE}),
        ("utils.py", "", {STOREYS}),
    ],
)
def test_a_contract_bites(skeleton, module, line, contracts):
    write(skeleton, "stores/postgres.py", "")
    write(skeleton, module, line)
    code, broken, said = lint(skeleton)
    assert code == 1, said
    assert {name for name in (STOREYS, PURE, CONCRETE, WIRE) for said in broken if said.startswith(name)} == contracts


def test_a_clock_behind_another_room_is_found(skeleton):
    """`decide` may import `telemetry`, which is below it; but not if a log or a clock is behind that door."""
    write(skeleton, "telemetry/__init__.py", "import structlog")
    write(skeleton, "decide/breaker.py", "from fairturn import telemetry")
    assert [name[: len(PURE)] for name in lint(skeleton)[1]] == [PURE]


def test_the_simulators_and_the_router_do_not_know_each_other(skeleton):
    (skeleton / "sims/src/crmsim/locks.py").write_text("from fairturn import model\n")
    assert [name[: len(WIRE)] for name in lint(skeleton)[1]] == [WIRE]


def write(root: Path, module: str, line: str) -> None:
    (root / "src/fairturn" / module).write_text(line + "\n")


# What the import graph cannot see: datetime and uuid hold nouns, and beside them what asks the clock or the dice.
IMPURE = {"open", "print", "input", ".now", ".utcnow", ".today", "uuid1", "uuid4", ".uuid1", ".uuid4"}


def test_decisions_ask_no_clock():
    house = ROOT / "src/fairturn"
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {name}()"
        for path in [*sorted((house / "decide").rglob("*.py")), *(house / f"{name}.py" for name in WORDS)]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and (name := called(node)) in IMPURE
    ]
    assert not found, "`now` is an argument, and so is all else from outside:\n" + "\n".join(found)


def called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return f".{name}"
    return ""
