"""Questions about people, judged by the settings in force."""

from __future__ import annotations

from collections.abc import Sequence

from fairturn.config import Settings
from fairturn.decide.existing import Choice, choice_rule, few, policy_of
from fairturn.model import Person
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.questions import PostgresQuestions


def questions(database: Database, settings: Settings) -> PostgresQuestions:
    choice_of = choice_rule(settings)
    rules = {rule.id: rule for rule in settings.rules}

    def by_rule(destination: str, rule: str | None, people: Sequence[Person]) -> Choice:
        return choice_of(destination, rules.get(rule or ""), people)

    def some(destination: str, people: Sequence[Person], most: int) -> Sequence[Person]:
        return few(people, policy_of(settings.destinations[destination]), most)

    return PostgresQuestions(database, by_rule, some)
