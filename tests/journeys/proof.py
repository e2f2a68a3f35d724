"""What must be true after every journey, read from the org's evidence and from the ledger."""

from __future__ import annotations

import importlib.util
from collections import Counter
from dataclasses import dataclass, field

from tests.journeys.crm import Crm
from tests.journeys.house import House, until
from tests.journeys.sender import Sender


@dataclass(slots=True)
class Journey:
    """A house, its senders and its org."""

    house: House
    sender: Sender
    crm: Crm
    ignored: set[str] = field(default_factory=set)  # addresses that must not reach the org
    by_hand: dict[str, str] = field(default_factory=dict)  # address -> the owner that a person gave it in the org
    overlapping: bool = False  # requests outlived their deadline on purpose

    @property
    def people(self) -> set[str]:
        """Everybody of whom a form was answered 2xx."""
        return {hook.body["email"] for hook, _ in self.sender.answers if hook.source != "enrichment"}

    async def settled(self, seconds: float = 45) -> None:
        """Until nothing is under way: all events routed, every change confirmed or failed."""

        async def rest() -> bool:
            async with self.house.ledger() as ledger:
                return bool(await ledger.fetchval(QUIET))

        try:
            await until("everything is settled", rest, seconds)
        except AssertionError as error:
            async with self.house.ledger() as ledger:
                left = [dict(row) for row in await ledger.fetch(LEFT)]
            raise AssertionError(f"{error}\n{left}\n{self.house.log[-4000:]}") from None

    async def proves(self) -> None:
        """Nothing lost, nothing twice, fair; on PostgreSQL and the org, not on Fairturn's word."""
        await self.settled()
        await self._nothing_lost()
        await self._one_record_each()
        await self._nothing_twice()
        await self._fair()

    async def _nothing_lost(self) -> None:
        async with self.house.ledger() as ledger:
            events = {row["id"].hex(): row["state"] for row in await ledger.fetch("select id, state from event")}
            leads = await ledger.fetch(LEADS)
        assert set(self.sender.events) - set(events) == set(), "answered 2xx, and not there"
        assert {state for event, state in events.items() if event in self.sender.events} <= {"routed"}
        assert Counter(row["email"] for row in leads) == Counter(self.people)
        assert {row["email"] for row in leads if row["status"] == "ignored"} == self.ignored

    async def _one_record_each(self) -> None:
        records = await self.crm.leads()
        expected = self.people - self.ignored
        assert Counter(row["Email"] for row in records) == Counter(expected), "one record each"
        assert len({row["Fairturn_Id__c"] for row in records}) == len(records)
        async with self.house.ledger() as ledger:
            rows = await ledger.fetch(OWNERS)
        assert {row["state"] for row in rows} <= {"done"}, [dict(row) for row in rows if row["state"] != "done"]
        ours = {row["key"]: self.crm.users[row["rep"]] if row["rep"] else self.crm.queue for row in rows}
        theirs = {row["Fairturn_Id__c"]: row["OwnerId"] for row in records if row["Email"] not in self.by_hand}
        assert theirs == {key: ours[key] for key in theirs}, "owners as in the ledger"
        assert {row["Email"]: row["OwnerId"] for row in records if row["Email"] in self.by_hand} == self.by_hand
        self._all_that_was_told(records)

    def _all_that_was_told(self, records: list[dict]) -> None:
        """Every title and score that was answered 2xx stands in the record."""
        told: dict[str, dict[str, object]] = {}
        for hook, _ in self.sender.answers:
            fields = {"Title": hook.body.get("title"), "Score__c": hook.body.get("score")}
            told.setdefault(hook.body["email"], {}).update({name: value for name, value in fields.items() if value})
        wrong = {
            row["Email"]: (told[row["Email"]], row)
            for row in records
            if any(row.get(name) != value for name, value in told[row["Email"]].items())
        }
        assert not wrong

    async def _nothing_twice(self) -> None:
        """A version is sent again only where its sender died before it could note the answer."""
        summary = await self.crm.summary()
        assert summary["duplicated"] == 0
        assert summary["overlaps"] == 0 or self.overlapping, "two requests in flight touched one account"
        async with self.house.ledger() as ledger:
            unanswered = {row["key"]: row["times"] for row in await ledger.fetch(UNANSWERED)}
            resent = await ledger.fetch(RESENT)
        repeats = Counter(await self.crm.repeats())
        assert not repeats - Counter(unanswered), "sent again after the answer was there"
        assert not [dict(row) for row in resent]

    async def _fair(self) -> None:
        audit = await self.house.cli("audit")
        assert audit["ok"], audit
        for pool in audit["pools"].values():
            assert pool["gaps"] == 0
            assert pool["recomputed"]
            assert pool["max_deviation"] < 1
        if importlib.util.find_spec("fairturn.operate.reconcile") is not None:
            found = await self.house.cli("reconcile")
            assert not found["missing"], found
            assert not found["twice"], found
            assert len(found["owner_differs"]) == len(self.by_hand), found


LEADS = "select status, fields -> 'email' ->> 0 as email from lead where merged_into is null"
QUIET = """
select not exists (select from event where state in ('pending', 'waiting'))
   and not exists (select from lead where status = 'waiting' and merged_into is null)
   and not exists (select from change c join lead l on l.id = c.lead_id
                   where l.merged_into is null and c.state in ('pending', 'in_flight'))
"""
LEFT = """
select 'event' as what, state, count(*), null as why from event where state in ('pending', 'waiting') group by 2
union all
select 'lead', status, count(*), max(reason) from lead where status = 'waiting' group by 2
union all
select 'change', c.state, count(*), max(c.cause) from change c where c.state in ('pending', 'in_flight') group by 2
union all
select 'destination', d.id, d.failures, concat_ws(' ', d.paused_reason, d.blocked_cause, d.blocked_until)
from destination d
"""
OWNERS = """
select c.external_key as key, c.state, l.rep_id as rep from change c join lead l on l.id = c.lead_id
where l.merged_into is null
"""
# Writes whose answer nobody noted: whoever sent them was killed, or heard nothing.
UNANSWERED = """
select c.external_key as key, count(*) as times
from write w join change c using (lead_id, destination_id) join batch b on b.id = w.batch_id
where b.problem is not null or coalesce(w.outcome, 'unknown') in ('unknown', 'later') group by 1
"""
# The same version, sent after an answer that confirmed it.
RESENT = """
select a.lead_id, a.version, a.batch_id, b.batch_id as again
from write a join write b using (lead_id, destination_id) join batch first on first.id = a.batch_id
where first.problem is null and a.outcome = 'written'
  and b.batch_id > a.batch_id and b.version <= a.version and b.outcome <> 'same'
"""
