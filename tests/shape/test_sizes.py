"""A module holds one concern and a function fits a screen. Limits are hard; the aim is well below them."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "sims/src").rglob("*.py")])
MODULE_LINES = 400
FUNCTION_LINES = 60
DRAWERS = {"utils", "util", "common", "helpers", "helper", "misc", "shared", "lib", "core", "base"}


def test_modules_hold_one_concern():
    long = {
        str(path.relative_to(ROOT)): lines
        for path in MODULES
        if (lines := len(path.read_text().splitlines())) > MODULE_LINES
    }
    assert not long, f"more than {MODULE_LINES} lines; find the second concern: {long}"


def test_functions_fit_a_screen():
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {lines} lines"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (lines := length(node)) > FUNCTION_LINES
    ]
    assert not long, f"more than {FUNCTION_LINES} lines:\n" + "\n".join(long)


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, without the docstring: words that explain are not to be saved on."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    match node.body[0]:
        case ast.Expr(value=ast.Constant(value=str())) as docstring:
            lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def test_no_drawers():
    """What has no room of its own ends in a drawer that everything imports."""
    found = [str(path.relative_to(ROOT)) for path in MODULES if path.stem in DRAWERS or path.parent.name in DRAWERS]
    assert not found


@pytest.mark.parametrize("room", ["src/fairturn", "sims/src/crmsim"])
def test_every_folder_of_python_is_a_package(room):
    """A folder without __init__.py is invisible to the import contracts."""
    folders = {path.parent for path in (ROOT / room).rglob("*.py")}
    bare = [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").exists()]
    assert not bare
