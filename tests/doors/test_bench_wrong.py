"""A measurement that could not end well is refused before it begins, in a line."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from bench.__main__ import arguments, writable
from bench.house import Failed
from bench.race import run
from fairturn.stores.postgres.server import places


@pytest.mark.parametrize(
    "asked",
    [
        "race --rounds 0",
        "race --requests 100,0",
        "race --concurrency 0",
        "race --pool 0",
        "race --leads -1 --direct",
        "race --routers nobody",
        "tail --leads 0",
        "tail --parallel 0",
        "tail --seconds nan",
        "tail --lingers 1,0",
        "tail --record-ms -1",
        "intake --rates 0",
        "intake --seconds inf",
        "growth --events 0",
        "flow --leads 1.5",
        "crm --seconds -1",
    ],
)
def test_a_figure_that_makes_no_sense_is_refused(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        arguments().parse_args(asked.split())
    assert refused.value.code == 2
    assert asked.split()[1] in capsys.readouterr().err


def test_more_connections_than_postgresql_has_room_for_are_refused_with_the_way_out() -> None:
    with pytest.raises(Failed, match="--pool"):
        run(arguments().parse_args(["race", "--concurrency", "10,1000"]))


def test_a_file_that_cannot_be_written_is_told_before_the_measurement(tmp_path: Path) -> None:
    for asked in (["--json", f"{tmp_path}/away/rows.json"], ["--json", str(tmp_path)], ["--keep", __file__]):
        with pytest.raises(Failed, match=asked[0]):
            writable(arguments().parse_args(["race", *asked]))
    writable(arguments().parse_args(["race", "--json", f"{tmp_path}/rows.json", "--keep", f"{tmp_path}/new"]))


def test_data_that_a_killed_initdb_still_writes_are_deleted_whole(tmp_path: Path) -> None:
    folder = tmp_path / "pgdata.new-half"
    (folder / "base").mkdir(parents=True)
    began = threading.Event()

    def write() -> None:
        for number in range(20_000):
            try:
                (folder / "base" / str(number)).touch()
            except FileNotFoundError:
                return
            began.set()

    writer = threading.Thread(target=write)
    writer.start()
    began.wait()
    places._remove(folder)
    writer.join()
    assert not folder.exists()
