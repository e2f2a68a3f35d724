"""The settings in force, made ready for the hot path: one frozen value that a station hands down."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from fairturn.config import Destination, Rule, Settings
from fairturn.decide.addresses import AddressReader, address_reader
from fairturn.decide.asking import asked
from fairturn.decide.existing import ChoiceOf, choice_rule
from fairturn.decide.mapping import Mapper, compile_mapper
from fairturn.decide.rules import RuleBook, compile_rules
from fairturn.ports import PoolShape


@dataclass(frozen=True, slots=True)
class Plan:
    version: int
    settings: Settings
    mappers: Mapping[str, Mapper]
    address: AddressReader  # what an e-mail address says
    rules: RuleBook
    shapes: Mapping[str, PoolShape]
    by_id: Mapping[str, Rule]
    chains: Mapping[str, tuple[str, ...]]  # pool -> it and all it falls back to
    asked: Mapping[str, Destination]  # that are asked whether a lead's person is there
    choice_of: ChoiceOf  # what their answers mean

    def with_fallbacks(self, pools: Iterable[str]) -> list[str]:
        """The pools and all they fall back to, each before its fallback."""
        order: list[str] = []
        for pool in sorted(pools):
            chain = self.chains.get(pool, ())
            # A chain's members move behind what is there: whoever falls back to one of them is not among the chain.
            order = [entry for entry in order if entry not in chain] + list(chain)
        return order


def chains(settings: Settings) -> dict[str, tuple[str, ...]]:
    found = {}
    for pool in settings.pools:
        chain: list[str] = []
        name: str | None = pool
        while name in settings.pools and name not in chain:
            chain.append(name)
            name = settings.pools[name].fallback
        found[pool] = tuple(chain)
    return found


def shapes(settings: Settings) -> dict[str, PoolShape]:
    return {
        name: PoolShape(dict(pool.members), pool.filtered, pool.account_sticky, pool.counts, pool.max_debt)
        for name, pool in settings.pools.items()
    }


def compile_plan(version: int, settings: Settings, flattener: Callable[[str], Callable[[object], object]]) -> Plan:
    """Raises ConfigError. `flattener`: a source's format -> what makes its payload flat."""
    return Plan(
        version=version,
        settings=settings,
        mappers={
            name: compile_mapper(name, source, settings, flattener(source.format))
            for name, source in settings.sources.items()
        },
        address=address_reader(settings.organisation, settings.routing),
        rules=compile_rules(settings),
        shapes=shapes(settings),
        by_id={rule.id: rule for rule in settings.rules},
        chains=chains(settings),
        asked=asked(settings),
        choice_of=choice_rule(settings),
    )


class Plans:
    """Holds the plan in force; `refresh` loads the newest when a turn saw another version."""

    def __init__(self, plan: Plan, load: Callable[[], Awaitable[Plan]]) -> None:
        self.current = plan
        self._load = load

    async def refresh(self) -> Plan:
        self.current = await self._load()
        return self.current
