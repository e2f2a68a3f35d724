"""The reference pages say what the program says: written by docs/generate.py, never by hand."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def generator():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["cli.md", "config.md", "simulators.md"])
def test_the_committed_page_is_the_generated_one(page, monkeypatch):
    monkeypatch.setenv("LOGNAME", "somebody")  # whose machine wrote it must not show
    (text,) = [text for path, text in generator().pages().items() if path.name == page]
    assert (ROOT / "docs/reference" / page).read_text() == text, "make docs"


def test_every_command_teaches_with_an_example():
    module = generator()
    import typer.main

    from fairturn.cli import app

    bare = [
        " ".join(path)
        for path, command in module.commands(typer.main.get_command(app), ("fairturn",))
        if not (command.epilog or "").startswith("Example: fairturn ") or not command.help
    ]
    assert not bare
