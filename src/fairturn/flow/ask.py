"""The ask station: one destination is asked for the people of leads that wait to hear whether they are there.

It shares lease, block, bucket and budget with the deliver station of the same destination. A question stays due until
its answer is stored: when this process dies between the two, the next holder of the lease asks again, and reading twice
does no harm.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import structlog

from fairturn.decide import breaker
from fairturn.decide.asking import on_the_clock
from fairturn.decide.batching import PLACED, PLACED_EACH, in_time, tick_after
from fairturn.errors import Contended, DestinationError, LoginRefused, StoreError, StoreUnavailable, WrongOrg
from fairturn.flow.account import POLL, Account
from fairturn.flow.memory import Memory
from fairturn.flow.pump import Pump
from fairturn.model import LookUp, Question
from fairturn.ports import Questions, Wake

log = structlog.get_logger(__name__)

MOST = 200  # addresses of one look-up
LATE = 0.2  # seconds after a tick of a fixed window in which what came before it has become a question
HELD_BACK = 0.25  # of `lookup_linger`, while a write is out
SLOTS = 4  # look-ups at once, while more than one is full
SPOILED = 20_000  # addresses kept that were in a failed look-up
GRACE = 2.0  # seconds beyond the look-up's time-out in which the destination has to return
SURE = 3  # look-ups failed in a row after which the destination is taken to be away
HELD = 3  # writes in a row that a failed question may hold back
OUTAGE = 0.5  # seconds before the next try when PostgreSQL is away


class Ask:
    """Asks one destination until stopped. Any number of processes may run one; the lease lets one work."""

    def __init__(self, account: Account, questions: Questions) -> None:
        self._account = account
        self._questions = questions
        self._settings = account.settings
        self._memory = Memory()
        self._pump = Pump(account, self._guarded_step)
        self._asking: set[int] = set()  # leads whose address is in a look-up now
        self._failures = 0  # look-ups failed in a row
        self._spoiled: Counter[str] = Counter()  # address -> failed look-ups that it was in
        self._quiet_until = 0.0  # monotonic: after a failure nobody is asked for a while
        self._cause = ""
        self._last = -math.inf  # monotonic, of the last look-up's departure
        self._took = 0.0  # seconds of the last one that was answered
        self._unheard = 0  # last questions before a write that stayed unanswered, in a row, while writes were heard
        self._spared_until = 0.0  # monotonic: no more of them until then
        self._held = 0  # writes that a question without an answer held back, in a row
        self._log = log.bind(destination=account.name)

    def stop(self) -> None:
        """Ask nothing more; `run` returns once the look-ups under way are answered and stored."""
        self._pump.stop()

    async def run(self, wake: Wake) -> None:
        """Until `stop`. Never raises for what the store or the CRM do: both are waited out."""
        await self._pump.run(wake)

    async def _guarded_step(self) -> float:
        try:
            return await self._step()
        except StoreError as error:
            self._log.warning("ask.store", error=str(error))
            return OUTAGE

    async def _step(self) -> float:
        """Let one look-up leave, if one may. Seconds until the next look."""
        loop = asyncio.get_running_loop()
        standing = self._account.standing
        if standing is None or not standing.usable(loop.time()):
            return POLL
        page = MOST * (SLOTS + 1)
        due = [one for one in await self._questions.due(self._account.name, page) if one.lead not in self._asking]
        due = await self._remembered(due, loop.time())
        if not due:
            self._account.intend(None)
            return POLL
        now = loop.time()
        shut = max(self._account.ready(now, paused_too=True), self._quiet_until - now)
        if shut > 0:
            if self._settings.on_unknown == "create" and (cause := self._why_shut(now)):
                await self._give_up(due, cause)
                return 0.0
            return shut
        emails = self._company(due)
        full = len(emails) >= MOST
        if (wait := self._opens(due, now, full=full)) > 0:
            together = on_the_clock(self._settings) or self._account.lands() is not None
            self._account.intend(now + wait if together else None)
            return wait
        chosen = set(emails)
        self._leave([one for one in due if one.email in chosen], emails, now)
        return 0.0

    def _company(self, due: Sequence[Question]) -> list[str]:
        """The addresses of the next look-up. One that spoils it is kept apart from those that were tried less often,
        and found after a few failures: each is of fewer.
        """
        emails = dict.fromkeys(one.email for one in due)
        least = min(self._spoiled[email] for email in emails)
        alike = [email for email in emails if self._spoiled[email] == least][:MOST]
        return alike[: breaker.probe(self._failures, len(alike))]

    def _opens(self, due: Sequence[Question], now: float, *, full: bool) -> float:
        """Seconds until the next look-up may leave: 0 with a full one, else in company of those who come soon."""
        if self._failures and self._pump.in_flight:
            return math.inf  # a single probe until one is answered
        if full and self._pump.in_flight < SLOTS:
            return 0.0
        if self._pump.in_flight:
            return math.inf
        time = self._account.time()
        if on_the_clock(self._settings) and time is not None:
            tick = tick_after(min(one.since for one in due), self._settings.every)
            return (tick - time).total_seconds() + LATE
        linger = self._settings.lookup_linger
        takes = self._took + PLACED + len(due) * PLACED_EACH
        return in_time(self._last + linger, self._account.lands(), takes, HELD_BACK * linger) - now

    def _why_shut(self, now: float) -> str | None:
        """The trouble, where there is one: waiting for a token of the bucket is none."""
        standing = self._account.standing
        if self._quiet_until > now:
            return self._cause
        if standing is not None and standing.blocked(now) > 0:
            return "it does not answer at the moment, or has told us to wait"
        return None

    async def _remembered(self, due: Sequence[Question], now: float) -> list[Question]:
        """Those whose address was not asked for lately; the others have their answer."""
        known = [(one, people) for one in due if (people := self._memory.of(one.email, now)) is not None]
        if known:
            by_email = {one.email: people for one, people in known}
            said = LookUp(tuple(person for people in by_email.values() for person in people), calls=0)
            await self._keep([one for one, _ in known], said)
        answered = {one.lead for one, _ in known}
        return [one for one in due if one.lead not in answered]

    async def once_more(self, leads: Sequence[int], waiting: Sequence[int]) -> bool:
        """Of leads that are about to be written, those that went on without an answer are asked about now, with others
        of that kind that wait to be written.

        Whoever did not answer the question is mostly away as a whole, and took no record either: by the time that it
        takes one it can say whom it has, and nobody is made twice. Where it takes records and answers no questions,
        they are written without. False: it is away, a write would only be lost, and the account is blocked for a while.
        Raises StoreError.
        """
        loop = asyncio.get_running_loop()
        if self._account.failures:  # writing fails too, so that nothing is spared: each probe asks anew
            self._unheard, self._spared_until = 0, 0.0
        if loop.time() < self._spared_until:
            return True
        for _ in range(2 + len(leads) // MOST):
            due = await self._questions.unanswered(self._account.name, leads)
            if not (due := await self._remembered(due, loop.time())):
                return True
            if self._away() and (quiet := self._quiet_until - loop.time()) > 0:
                return await self._hold(quiet, self._cause)
            # One answer may get lost. The second try is of those alone that leave now.
            more = () if self._unheard else await self._questions.unanswered(self._account.name, waiting)
            emails = list(dict.fromkeys(one.email for one in (*due, *more)))[:MOST]
            chosen = set(emails)
            asked = [one for one in {one.lead: one for one in (*due, *more)}.values() if one.email in chosen]
            self._account.spend(loop.time())
            said = await self._look(emails)
            if isinstance(said, str):
                if self._away():
                    return await self._hold(None, said)
                self._unheard = 0 if self._account.failures else self._unheard + 1
                if self._unheard == 1:
                    continue
                self._held, self._spared_until = 0, loop.time() + breaker.LONGEST
                return True
            self._unheard = self._held = 0
            await self._heard(asked, emails, said)
        return True

    def _away(self) -> bool:
        """Whether the question is probe enough. Not for ever: who answers no questions may still take records."""
        return self._held < HELD if self._account.failures else self._held == 0 and self._failures >= SURE

    async def _hold(self, seconds: float | None, cause: str) -> bool:
        self._held += 1
        await self._account.block(seconds, cause)
        return False

    # ---- one look-up ------------------------------------------------------------------------------------------------

    def _leave(self, asked: Sequence[Question], emails: Sequence[str], now: float) -> None:
        self._last = now
        self._account.spend(now)
        self._asking |= {one.lead for one in asked}
        self._pump.leave(self._fly(asked, emails))

    async def _fly(self, asked: Sequence[Question], emails: Sequence[str]) -> None:
        try:
            with self._account.asking(len(asked)):
                began = asyncio.get_running_loop().time()
                said = await self._look(emails)
                if isinstance(said, str):
                    await self._failed(asked, said)
                    return
                self._took = asyncio.get_running_loop().time() - began
                self._failures, self._quiet_until = 0, 0.0
                await self._heard(asked, emails, said)
        except StoreError as error:
            self._log.warning("ask.not_stored", error=str(error))
        finally:
            self._asking -= {one.lead for one in asked}

    async def _heard(self, asked: Sequence[Question], emails: Sequence[str], said: LookUp) -> None:
        """Should PostgreSQL be away now, the questions stay due, and memory answers them when it is back."""
        with contextlib.suppress(StoreError):
            await self._account.learn(said)
        self._memory.keep(emails, said.people, asyncio.get_running_loop().time())
        for email in emails:
            self._spoiled.pop(email, None)
        await self._keep(asked, said)

    async def _keep(self, asked: Sequence[Question], said: LookUp) -> None:
        """One person whom the store cannot hold stands in nobody else's way. Raises StoreError for an outage of it."""
        try:
            await self._questions.answer(self._account.name, asked, said)
        except (StoreUnavailable, Contended):
            raise
        except Exception as error:
            if len(asked) > 1:
                for one in asked:
                    await self._keep([one], replace(said, calls=0))
                return
            log.exception("ask.not_kept", destination=self._account.name, lead=asked[0].lead)
            await self._give_up(asked, f"its answer could not be kept: {type(error).__name__}")

    async def _look(self, emails: Sequence[str]) -> LookUp | str:
        """The answer, or why there is none."""
        seconds = self._settings.lookup_timeout
        try:
            async with asyncio.timeout(seconds + GRACE):
                await self._account.know_org()
                return await self._account.destination.look_up(emails, seconds)
        except TimeoutError:
            return f"no answer within {seconds:g} s"
        except DestinationError as error:
            if isinstance(error, LoginRefused | WrongOrg):
                await self._account.refused(error)
            elif error.after is not None:  # a limit is the account's: writing would meet it too
                await self._account.block(error.after, str(error))
            return str(error)
        except StoreError:
            raise
        except Exception as error:
            log.exception("ask.broken", destination=self._account.name)  # a fault of our own: they go on at their time
            return type(error).__name__

    async def _failed(self, asked: Sequence[Question], cause: str) -> None:
        self._failures += 1
        if len(self._spoiled) > SPOILED:
            self._spoiled.clear()
        self._spoiled.update(one.email for one in asked)
        pause = breaker.pause(self._failures, self._account.dice())
        self._quiet_until, self._cause = asyncio.get_running_loop().time() + pause, cause
        self._log.warning("ask.failed", addresses=len(asked), cause=cause, failures=self._failures)
        if self._settings.on_unknown == "create":
            await self._give_up(asked, cause)

    async def _give_up(self, asked: Sequence[Question], cause: str) -> None:
        name = self._account.name
        why = f"{name} could not be asked whether the person is there ({cause}); a new record was made"
        await self._questions.give_up(name, asked, why)
