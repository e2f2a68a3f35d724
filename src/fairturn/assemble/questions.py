"""Questions about people, judged by the settings in force."""

from __future__ import annotations

from collections.abc import Sequence

from fairturn.config import Settings
from fairturn.decide.addresses import email_facts
from fairturn.decide.asking import address_of
from fairturn.decide.existing import Choice, choice_rule, few, policy_of
from fairturn.decide.merging import plain
from fairturn.model import Fields, Person
from fairturn.stores.postgres.database import Database
from fairturn.stores.postgres.questions import PostgresQuestions


def questions(database: Database, settings: Settings) -> PostgresQuestions:
    choice_of = choice_rule(settings)
    rules = {rule.id: rule for rule in settings.rules}

    def by_rule(destination: str, rule: str | None, people: Sequence[Person]) -> Choice:
        return choice_of(destination, rules.get(rule or ""), people)

    def some(destination: str, people: Sequence[Person], most: int) -> Sequence[Person]:
        return few(people, policy_of(settings.destinations[destination]), most)

    def address(fields: Fields) -> str | None:
        text = plain(fields).get("email")
        return address_of(email_facts(text if isinstance(text, str) else None, settings.organisation, settings.routing))

    return PostgresQuestions(database, by_rule, some, address)
