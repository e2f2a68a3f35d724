"""What is said of a condition that cannot be used: the place, the reason, and what to write instead."""

import pytest

from fairturn.config import Settings
from fairturn.decide.complaints import ConditionError
from fairturn.decide.conditions import mask, names_in, vocabulary
from fairturn.decide.rules import compile_condition

WORDS = vocabulary(
    Settings.model_validate(
        {"fields": {"demo": "boolean", "seen": "time"}, "sources": {"website": {"verify": {"type": "unsigned"}}}}
    )
)
MESSAGES = [
    ('lead.countri == "US"', "there is no lead.countri", "Did you mean lead.country?"),
    ('lead.Country == "US"', "there is no lead.Country", "Did you mean lead.country?"),
    ('country == "US"', "country needs to say whose it is", "Write lead.country"),
    ('lead.budget == "a"', "there is no lead.budget",
     'A field of your own is declared first: [fields] budget = "text"'),
    ("known.countri", "there is no known.countri", "Did you mean known.country?"),
    ("lead.country == US", "US is no name that a condition knows", 'If it is a text, put it in quotes: "US"'),
    ('lead.employees > "1,200"', 'lead.employees is a whole number, but "1,200" is text', 'Write 1200, not "1,200"'),
    ("lead.employees == 'many'", "lead.employees is a whole number, but 'many' is text", "Compare it with a number"),
    ("lead.employees > 50.5", "lead.employees is a whole number, but 50.5 is a number", "Write 50, without a point"),
    ("lead.country == 100", "lead.country is text, but 100 is a whole number", 'Write "100", with quotes'),
    ('lead.demo == "yes"', 'lead.demo is true or false, but "yes" is text', "Write true or false, without quotes"),
    ('lead.country = "US"', "one '=' sets a value, and a condition compares", "Write '=='"),
    ('lead.country == "US" and lead.demo', "there is no 'and'", "Write '&&'"),
    ('lead.country == "US" OR lead.demo', "there is no 'or'", "Write '||'"),
    ('lead.country <> "US"', "there is no '<>'", "Write '!='"),
    ('lead.country not in ["US"]', "there is no 'not in'", 'Write !(lead.country in ["US", "CA"])'),
    ("lead.country == “US”", "typographic quotes are not quotes here", 'Write straight ones: "US"'),
    ('lead.country == "US', "a quote is not closed", 'Texts stand between two straight quotes: "US"'),
    ('(lead.country == "US"', "a parenthesis is not closed", "Add a ')'"),
    ("lead.country ==", "the condition stops in the middle", "Write what comes after the last operator"),
    ("lead.country != null", "a value is never null here: it is known or it is not",
     "Write known.country, or !known.country"),
    ("has(lead.country)", "there is no has() here", "Write known.country"),
    ('lead.country == ""', "a blank counts as no value, so this never has an answer", "Write !known.country"),
    ('lead.title.lower() == "cto"', "there is no function lower()", "Did you mean lowerAscii()?"),
    ('startsWith(lead.title, "C")', "startsWith() cannot stand there",
     "It stands behind the text that it looks at: lead.email.startsWith(...)"),
    ("lead.seen > now()", "there is no now()", "A condition looks at the lead and its source, not at the clock"),
    ('lead.email_kind == "freemail"', "lead.email_kind is never 'freemail'", "Did you mean free?"),
    ('event.source in ["web", "website"]', "event.source is never 'web'", "Did you mean website?"),
    ('lead.country in "US, CA"', "'in' looks in a list, and \"US, CA\" is text",
     'Write lead.title.contains("chief"), or a list: lead.country in ["US", "CA"]'),
    ('lead.title.matches("(chief")', "the pattern cannot be used: invalid regular expression: missing ): (chief",
     "Patterns are RE2: https://github.com/google/re2/wiki/Syntax"),
    (r'lead.phone.matches("\d")', "a backslash in quotes starts an escape that does not exist",
     r'Write r before the quotes: lead.phone.matches(r"^\+44")'),
    ("lead.country", "it is no condition: it gives a value, not true or false",
     "Compare it with something: lead.country == ..."),
    ("lead.country && lead.demo", "'&&' joins conditions, and one side is text",
     "Compare it with something, or ask known.<field> whether there is a value"),
    ("1 / 0 == 1", "it never has an answer (INVALID_ARGUMENT: divide by zero)", "Name a field of the lead in it"),
]  # fmt: skip


@pytest.mark.parametrize(("when", "message", "remedy"), MESSAGES, ids=[when for when, _, _ in MESSAGES])
def test_a_condition_that_cannot_be_used(when, message, remedy):
    with pytest.raises(ConditionError) as caught:
        compile_condition(when, WORDS)
    assert (caught.value.message, caught.value.remedy) == (message, remedy)


@pytest.mark.parametrize(
    ("when", "line", "column"),
    [
        ('lead.country == "US" &&\n  lead.employes > 5', 2, 7),
        ('lead.score > 50 && lead.contry == "a"', 1, 24),
        ('lead.company == "é" && lead.employees == "5"', 1, 39),
        ('lead.country == "and" and lead.demo', 1, 23),
    ],
)
def test_where_it_is(when, line, column):
    with pytest.raises(ConditionError) as caught:
        compile_condition(when, WORDS)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_quotes_hide_what_looks_like_names():
    text = 'lead.title == "lead.country" // lead.city\n && known.phone || "it\\"s lead.state" == lead.company'
    assert names_in(text) == ("lead.title", "known.phone", "lead.company")
    assert len(mask(text)) == len(text)


def test_a_habit_within_quotes_is_none():
    assert compile_condition('lead.company == "Sand and Co; not <> = or"', WORDS).names == ("lead.company",)
