"""Starts that cannot succeed: they end, with a sentence."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

import pytest

from fairturn.assemble.children import Child
from fairturn.assemble.listening import free, listen
from fairturn.errors import NotServing
from tests.journeys.house import until
from tests.journeys.proof import Journey


async def test_a_taken_port_ends_serve_before_it_starts_anything(home: Journey):
    with socket.create_server(("127.0.0.1", home.house.port)):
        refused = home.house.spawn()
        assert await asyncio.to_thread(refused.wait, 30) == 3
    assert f"Port {home.house.port} on 127.0.0.1 is taken by another program" in home.house.log
    assert "--port" in home.house.log
    assert "child.ended" not in home.house.log
    assert home.house.data is not None
    assert not home.house.data.exists()


async def test_one_role_alone_says_the_same(home: Journey):
    await home.house.serve()
    second = home.house.spawn("--role", "intake")
    assert await asyncio.to_thread(second.wait, 30) == 3
    assert f"Port {home.house.port} on 127.0.0.1 is taken by another program" in home.house.log
    assert "Traceback" not in home.house.log


TELLS = "from fairturn.assemble.stopping import report; import sys; report({words!r}); sys.exit({code})"


def child(words: str, code: int) -> Child:
    return Child("worker", [sys.executable, "-c", TELLS.format(words=words, code=code)], {})


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (child("it has no key to the CRM", 3), "it has no key to the CRM"),
        (child("up", 0), None),
        (child("up", 1), None),
    ],
)
async def test_a_child_that_never_ran_is_given_up_with_its_own_words(program: Child, said: str | None):
    stop = asyncio.Event()
    keeping = asyncio.create_task(program.keep(stop))
    if said is None:
        await until("it was up", lambda: program.ran)
        assert not keeping.done()
        stop.set()
        await keeping
        return
    with pytest.raises(NotServing, match=f"The worker cannot start: {said}"):
        await keeping


async def test_a_child_that_meets_an_outage_at_its_start_is_started_again():
    """75: PostgreSQL restarts just now. That is no reason to end the whole serve."""
    stop = asyncio.Event()
    program = Child("worker", [sys.executable, "-c", "raise SystemExit(75)"], {})
    keeping = asyncio.create_task(program.keep(stop))
    await until("it has ended", lambda: program.process is not None and program.process.returncode == 75)
    assert not (await asyncio.wait({keeping}, timeout=0.2))[0]
    stop.set()
    await keeping


async def test_a_child_that_dies_without_a_word_is_given_up_with_its_code():
    program = Child("intake", [sys.executable, "-c", "raise SystemExit(9)"], {})
    with pytest.raises(NotServing, match="The intake cannot start: it ended with code 9"):
        await program.keep(asyncio.Event())


def test_what_an_address_is_refused_for(tmp_path: Path):
    (held,) = listen("127.0.0.1", 0)
    port = held.getsockname()[1]
    with held, pytest.raises(NotServing, match=f"Port {port} on 127.0.0.1 is taken"):
        free("127.0.0.1", port)
    free("127.0.0.1", port)
    for host in ("192.0.2.7", "no-such-host.invalid"):
        with pytest.raises(NotServing, match="is no address of this machine"):
            free(host, 0)
