"""The command line before it does anything: quick, plain in a pipe, and never a traceback."""

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from fairturn import __version__, cli
from fairturn.cli import app, paper
from fairturn.cli.running import refusals
from fairturn.errors import StoreUnavailable

HEAVY = {"asyncpg", "pydantic", "cel_expr_python", "starlette", "uvicorn", "httpx2", "phonenumbers", "jmespath"}


def test_help_imports_nothing_heavy():
    """`fairturn --help` takes a third of a second; with all that a worker needs it would take two."""
    program = "import sys, fairturn.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, check=True)
    assert not HEAVY & set(done.stdout.split())


def test_version_is_that_of_the_package():
    assert CliRunner().invoke(app, ["version"]).stdout.startswith(f"fairturn {__version__} ")


def test_a_word_that_is_no_command_is_a_usage_error():
    done = CliRunner().invoke(app, ["reticulate"])
    assert done.exit_code == 2


def test_init_writes_settings_that_check_and_does_not_write_over_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = CliRunner()
    assert run.invoke(app, ["init"]).exit_code == 0
    again = run.invoke(app, ["init"])
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert run.invoke(app, ["init", "--force", "--destination", "salesforce"]).exit_code == 0
    missing = run.invoke(app, ["check", "--json"])
    assert missing.exit_code == 1
    assert '"line"' in missing.stdout
    assert run.invoke(app, ["check", "--config", "none.toml"]).exit_code == 1
    (tmp_path / "leads.csv").write_text("Email;Owner\na@b.com;Ann Lee\n")
    assert run.invoke(app, ["init", "--from", "leads.csv", "--config", "from.toml"]).exit_code == 0
    assert "Ann Lee" in (tmp_path / "from.toml").read_text()


def test_an_error_shows_no_password(capsys):
    """Case 123."""
    for words in ("postgresql://u:SECRET123@host/db refused", "dsn user=u password=SECRET123 host=h"):
        with pytest.raises(typer.Exit), refusals():
            raise StoreUnavailable(words)
    said = capsys.readouterr().err
    assert "SECRET123" not in said
    assert "***" in said


def test_a_fault_of_ours_is_a_line_too(monkeypatch, capsys):
    def broken(**_: object) -> None:
        raise KeyError("surprise")

    monkeypatch.setattr(cli, "app", broken)
    monkeypatch.delenv("FAIRTURN_DEBUG", raising=False)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == cli.FAULT_OF_OURS
    assert "surprise" in capsys.readouterr().err


def test_times_and_counts_in_words():
    assert paper.many(1, "lead") == "1 lead"
    assert paper.many(12000, "lead") == "12,000 leads"
    assert paper.clean("a\x1b[31mb\nc\u202ed") == "a [31mb c d"
