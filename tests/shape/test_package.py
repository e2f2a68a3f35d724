"""What pip installs is all that is needed: SQL, templates and type marks travel inside the wheel."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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
