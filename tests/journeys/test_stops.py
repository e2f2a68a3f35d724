"""Stops, second starts, starts at once."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket

import asyncpg

from fairturn.stores.postgres.embedded import Embedded
from tests.journeys.conftest import Begin
from tests.journeys.house import child, free_port, until
from tests.journeys.proof import Journey
from tests.journeys.sender import form, strangers
from tests.journeys.settings import render


def slow_client(port: int) -> socket.socket:
    """Has announced more than it sent, and keeps the connection."""
    client = socket.create_connection(("127.0.0.1", port))
    head = "POST /in/website HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
    client.sendall(head.encode() + b"{")
    return client


async def test_stopped_with_a_window_full_and_a_slow_client(begin: Begin):
    """Case 64: 50 events in a window of 30 s, SIGTERM, then kill -9, then a start."""
    server = 'body_timeout = "4s"'
    async with begin(server=server, crm_more={"linger": "30s", "max_wait": "30s"}) as journey:
        house = journey.house
        serving = await house.serve()
        await journey.sender.burst([form(email) for email in strangers("late", 50)], 1)
        window = "select count(*) = 50 from change where state = 'pending'"
        await until("all are in the window", lambda: house.ask(window))
        with contextlib.closing(slow_client(house.port)):
            serving.send_signal(signal.SIGTERM)
            await until("the worker does not wait for the client", lambda: child(serving, "worker") is None)
            assert await house.ask("select lease_holder from destination") is None, "the lease is given back"
            await house.stop(serving, signal.SIGKILL)
            assert await house.ask(window)
        assert (await journey.crm.numbers())["leads"] == 0
        await until("the intake ends with its parent", lambda: not house.left())
        house.config.write_text(render(journey.crm, data=None, port=house.port))
        await house.serve()
        await journey.proves()
        assert (await journey.crm.summary())["repeats"] == 0


async def test_a_second_serve_on_the_same_data_refuses(home: Journey):
    first = await home.house.serve()
    second = home.house.spawn(port=free_port())
    assert await asyncio.to_thread(second.wait, 30) == 3
    assert f"is in use by process {first.pid}. Stop that Fairturn first" in home.house.log
    assert "Traceback" not in home.house.log
    await home.sender.send(form("one@one.com"))
    await home.proves()


async def test_many_start_at_once_on_an_empty_database(begin: Begin, postgres_cluster: Embedded):
    """Three of everything; and each webhook comes to all three doors at one moment (cases 21, 56)."""
    connection = await asyncpg.connect(postgres_cluster.dsn)
    await connection.execute("create database journey_empty")
    try:
        async with begin(database=postgres_cluster.dsn_of("journey_empty")) as journey:
            house = journey.house
            doors = [house.port, free_port(), free_port()]
            serving = [house.spawn(port=door) for door in doors]
            await asyncio.gather(*(house.ready(process, door) for process, door in zip(serving, doors, strict=True)))
            hooks = [form(email, "Ten") for email in strangers("same", 50)]
            urls = [f"http://127.0.0.1:{door}" for door in doors]
            await asyncio.gather(*(journey.sender.send(hook, url=url) for hook in hooks for url in urls))
            await journey.proves()
            assert await house.ask("select count(*) from event") == 50
            assert await house.ask("select count(*) from assignment where kind = 'turn'") == 50
            assert await house.ask("select count(*) from config_version") == 1
            counts = await house.ask(
                "select array_agg(n) from (select count(lead_id) n from assignment group by rep_id)"
            )
            assert counts == [5] * 10
            for process in serving:
                assert await house.stop(process) == 0
    finally:
        await connection.execute("drop database journey_empty with (force)")
        await connection.close()
