"""`fairturn db status` with a Valkey before PostgreSQL: how much waits there, and when it cannot say."""

import asyncio
import re

from typer.testing import CliRunner

from fairturn.cli import app
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.journal import PostgresJournal
from fairturn.stores.valkey.journal import ValkeyJournal
from fairturn.stores.valkey.link import Link
from tests.contract.journals import STREAM, arrival
from tests.doors.commands import Said
from tests.flow.world import config
from tests.valkey import Valkey


async def test_status_tells_what_waits_in_the_stream(database, tmp_path):
    file = tmp_path / "fairturn.toml"

    async def said(*more: str) -> Said:
        words = ["db", "status", "--config", str(file), *more]
        env = {"FAIRTURN_DSN": "", "VALKEY": valkey.url, "COLUMNS": "160"}
        done = await asyncio.to_thread(CliRunner().invoke, app, words, env=env, catch_exceptions=False)
        return Said(done.exit_code, done.stdout, done.stderr)

    def written(url: str) -> None:
        named = f'database_url = "{url}"\njournal = "valkey"\nvalkey_url = "env:VALKEY"\n'
        file.write_text(named + config())

    written(database)
    with Valkey.started() as valkey:
        links = Link(valkey.url), Link(valkey.url)
        journal = ValkeyJournal(*links, STREAM, PostgresJournal(Database(database)))
        await journal.append([arrival(b'[{"n":1},{"n":2}]'), arrival(b'{"n":3}')])
        for link in links:
            await link.close()
        valkey.command("XADD", STREAM.aside, "*", "was", "0-1")
        shown = await said()
        assert shown.code == 0
        assert re.search(r"3 events to be stored, the oldest from \d+ s ago", shown.out)
        assert "1 entry that PostgreSQL cannot hold" in shown.out
        told = (await said("--json")).json["valkey"]
        assert (told["waiting"], told["aside"], told["problem"]) == (3, 1, None)
        written("postgresql:///x?host=/nowhere")
        shown = await said()
        assert shown.code == 3
        assert "3 events wait" in shown.err
    written(database)
    shown = await said()
    assert shown.code == 1
    assert "Valkey is not available" in shown.out
