"""What pip installs is all that is needed: SQL, templates and type marks travel inside the wheel."""

import ast
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import crmsim
import fairturn

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, zipfile.ZipFile]:
    out = tmp_path_factory.mktemp("wheels")
    for project in (ROOT, ROOT / "sims"):
        built = subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out],
            cwd=project,
            text=True,
            capture_output=True,
            check=False,
        )
        assert built.returncode == 0, built.stderr
    return {path.name.split("-")[0]: zipfile.ZipFile(path) for path in out.glob("*.whl")}


@pytest.mark.parametrize(("name", "source"), [("fairturn", "src/fairturn"), ("crmsim", "sims/src/crmsim")])
def test_every_file_of_the_package_travels(wheels, name, source):
    made_by_tools = {".pyc", ".swp", ".orig"}
    ours = {
        str(path.relative_to((ROOT / source).parent))
        for path in (ROOT / source).rglob("*")
        if path.is_file() and path.suffix not in made_by_tools and not path.name.startswith(".")
    }
    packed = {member for member in wheels[name].namelist() if ".dist-info/" not in member}
    assert packed == ours
    assert f"{name}/py.typed" in packed


def test_the_licence_travels_and_the_command_is_there(wheels):
    names = wheels["fairturn"].namelist()
    info = next(name.split("/")[0] for name in names if ".dist-info/" in name)
    assert {f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE"} <= set(names)
    assert "fairturn = fairturn.cli:main" in wheels["fairturn"].read(f"{info}/entry_points.txt").decode()
    metadata = wheels["fairturn"].read(f"{info}/METADATA").decode()
    assert f"\nVersion: {fairturn.__version__}\n" in metadata
    assert "\nLicense-Expression: Apache-2.0\n" in metadata


def test_router_and_simulators_are_released_together():
    assert fairturn.__version__ == crmsim.__version__


@pytest.mark.parametrize(("source", "project"), [("src/fairturn", "."), ("sims/src/crmsim", "sims")])
def test_what_is_imported_is_declared(source, project):
    """A package that comes along with another one today may stay away tomorrow."""
    declared = {
        canonicalize_name(Requirement(text).name)
        for text in tomllib.loads((ROOT / project / "pyproject.toml").read_text())["project"]["dependencies"]
    }
    origins = packages_distributions()
    undeclared = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / source).rglob("*.py")
        for name in imported(ast.parse(path.read_text()))
        if name not in sys.stdlib_module_names | {"fairturn", "crmsim"}
        and not declared & {canonicalize_name(origin) for origin in origins.get(name, [])}
    }
    assert not undeclared, "name them in pyproject.toml, then `make lock`:\n" + "\n".join(sorted(undeclared))


def imported(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {alias.name.split(".")[0] for alias in names}
            case ast.ImportFrom(module=str(module), level=0):
                found.add(module.split(".")[0])
    return found
