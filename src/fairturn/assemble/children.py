"""The processes of `fairturn serve`, one per role: started again when they end, given up when they never began."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from fairturn.assemble.stopping import REPORT, TRY_AGAIN, UP
from fairturn.errors import NotServing

log = structlog.get_logger(__name__)
SOON = 5.0  # seconds: a child that ends sooner than this after its start waits before the next one
PATIENCE = 40.0  # seconds that a child gets to finish its request in flight


@dataclass
class Child:
    """A process of one role, started again when it ends before we do."""

    role: str
    command: Sequence[str]
    env: Mapping[str, str]
    process: asyncio.subprocess.Process | None = field(default=None, init=False)
    ran: bool = field(default=False, init=False)  # it was up once: what stops it now may pass

    async def keep(self, stop: asyncio.Event) -> None:
        """Until `stop`. Raises NotServing when the child ends before it was ever up."""
        loop = asyncio.get_running_loop()
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                began = loop.time()
                code, words = await self._once(stopping)
                if stop.is_set():
                    break
                # A signal is somebody's doing, and no reason to think that the next start would end likewise.
                if not self.ran and code > 0 and code != TRY_AGAIN:
                    raise NotServing(f"The {self.role} cannot start: {words or f'it ended with code {code}'}")
                log.warning("child.ended", role=self.role, code=code, why=words or None)
                if loop.time() - began < SOON:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(stop.wait(), SOON)
        finally:
            stopping.cancel()
            await self.end()

    async def _once(self, stopping: asyncio.Task[bool]) -> tuple[int, str]:
        """One process, until it ends or we are to stop: its exit code, and why it could not start if it said so."""
        reader, place = os.pipe()
        try:
            # Standard input is its lifeline: when we die without a word, our end closes and the child stops by itself.
            self.process = await asyncio.create_subprocess_exec(
                *self.command,
                env={**self.env, REPORT: str(place)},
                stdin=asyncio.subprocess.PIPE,
                pass_fds=(place,),
            )
        finally:
            os.close(place)
        telling = asyncio.create_task(self._listen(reader))
        ended = asyncio.create_task(self.process.wait())
        await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            telling.cancel()
            ended.cancel()
            return 0, ""
        return ended.result(), await telling

    async def _listen(self, place: int) -> str:
        """The child's one message: why it cannot start; nothing where it is up, or ended without a word."""
        stream = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(place, "rb")
        )
        try:
            words = (await stream.read()).decode("utf-8", "replace")
        finally:
            transport.close()
        self.ran = self.ran or words == UP
        return "" if words == UP else words

    async def end(self) -> None:
        process = self.process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), PATIENCE)
        except TimeoutError:
            log.warning("child.killed", role=self.role)
            process.kill()
            await process.wait()
