"""A pool's life, at random: whatever happens in between, the audit of the stored rows holds after every act."""

import random

import pytest

from fairturn.operate.audit import audit
from fairturn.stores.postgres.proofs import PostgresProofs
from tests.flow.world import World, Worlds, config

NAMES = [f"r{number}" for number in range(8)]
FILTER = """
[[rules]]
id = "german"
when = "lead.country == 'DE'"
pool = "main"
exclude = ["r0", "r1"]
[[rules]]
id = "rest"
when = "true"
pool = "main"
"""


class Life:
    """Random acts on one pool."""

    def __init__(self, w: World, seed: int, *, filters: bool) -> None:
        self.w, self.dice, self.filters = w, random.Random(seed), filters
        self.members = {name: self.dice.randint(1, 9) for name in NAMES[:4]}
        self.leads = 0

    def text(self) -> str:
        members = ", ".join(f"{name} = {weight}" for name, weight in self.members.items())
        return config(members, rules=FILTER, reps=NAMES)

    async def act(self) -> None:
        await self.dice.choice(
            [self.arrive, self.arrive, self.arrive, self.pause, self.resume, self.change, self.meet]
        )()
        await self.w.station.serve_held()

    async def arrive(self) -> None:
        count = self.dice.randint(1, 12)
        payloads = []
        for _ in range(count):
            self.leads += 1
            mail = self.dice.choice([f"p{self.leads}@gmail.com", f"p{self.leads}@company{self.leads % 5}works.com"])
            german = self.filters and self.dice.random() < 0.3
            payloads.append({"email": mail, "visitor": f"v{self.leads}"} | ({"country": "DE"} if german else {}))
        await self.w.route(*payloads)

    async def pause(self) -> None:
        await self.w.pause(self.dice.choice(list(self.members)))

    async def resume(self) -> None:
        await self.w.resume(*NAMES)

    async def change(self) -> None:
        """Somebody joins, leaves, or gets another weight."""
        free = [name for name in NAMES if name not in self.members]
        if free and self.dice.random() < 0.4:
            self.members[self.dice.choice(free)] = self.dice.randint(1, 9)
        elif len(self.members) > 2 and self.dice.random() < 0.5:
            del self.members[self.dice.choice(list(self.members))]
        else:
            self.members[self.dice.choice(list(self.members))] = self.dice.randint(1, 9)
        await self.w.apply(self.text())

    async def meet(self) -> None:
        """Two leads prove to be one person: a turn goes back."""
        if self.leads >= 2:
            one, other = self.dice.sample(range(1, self.leads + 1), 2)
            await self.w.route({"visitor": f"v{one}", "email": f"m{one}x{other}@gmail.com"})
            await self.w.route({"visitor": f"v{other}", "email": f"m{one}x{other}@gmail.com"})


@pytest.mark.parametrize(("seed", "filters"), [(1, False), (2, False), (3, True), (4, True)])
async def test_the_audit_holds_after_every_act(world: Worlds, seed: int, filters: bool) -> None:
    w = await world(config("r0 = 1, r1 = 1, r2 = 1", rules=FILTER, reps=NAMES))
    life = Life(w, seed, filters=filters)
    await w.apply(life.text())
    for _ in range(40):
        await life.act()
        found = await audit(PostgresProofs(w.database))
        assert not found.differences
        pool = found.pools["main"]
        assert (pool.gaps, pool.recomputed, sum(pool.balances.values())) == (0, True, 0), pool.first_difference
        assert filters or pool.max_deviation < 1
    await w.resume(*NAMES)
    await w.station.serve_held()
    assert await w.value("select count(*) from lead where status = 'held'") == 0
