"""Who shares a pool's turns, who may take a lead, and the answer to "why not me?"."""

from fairturn.config import Settings
from fairturn.decide.eligibility import eligible, present, why_not

SETTINGS = Settings.model_validate(
    {
        "reps": {
            "ann": {"name": "Ann Lee", "attributes": {"language": ["en", "de"]}},
            "bob": {"name": "Bob Ray", "attributes": {"language": ["EN"], "region": ["North  America"]}},
            "cem": {"name": "Cem Kaya"},
        },
        "pools": {"emea": {"members": {"ann": 2, "bob": 1, "cem": 1, "dee": 0}}},
    }
)
POOL = SETTINGS.pools["emea"]


def rule(**more):
    return Settings.model_validate({"rules": [{"id": "r", "when": "true", "pool": "emea", **more}]}).rules[0]


def among(rule, values=None):
    found = eligible(rule, POOL, SETTINGS, values or {})
    return found if found is None else set(found)


def test_present_are_members_of_weight_who_are_not_paused():
    """Case 6: weight 0 never shares, not even when nobody else is there."""
    assert present(POOL, {}) == {"ann", "bob", "cem"}
    assert present(POOL, {"ann": "on leave", "bob": ""}) == {"cem"}
    assert present(POOL, {"ann": "", "bob": "", "cem": ""}) == frozenset()


def test_a_rule_without_filter_filters_nobody():
    assert among(rule()) is None


def test_require_compares_regardless_of_case_and_blanks():
    assert among(rule(require={"language": " DE "})) == {"ann"}
    assert among(rule(require={"language": "en"})) == {"ann", "bob"}
    assert among(rule(require={"region": "north america"})) == {"bob"}
    assert among(rule(require={"language": "fr"})) == frozenset()


def test_require_in_the_leads_own_words():
    wanted = rule(require={"language": "{lead.language}"})
    assert among(wanted, {"language": "De"}) == {"ann"}
    assert among(wanted, {"language": "fr"}) == frozenset()


def test_what_nobody_knows_filters_nobody():
    wanted = rule(require={"language": "{lead.language}"})
    assert among(wanted) is None
    assert among(wanted, {"language": " "}) is None


def test_exclude():
    assert among(rule(exclude=["ann"])) == {"bob", "cem"}
    assert among(rule(exclude=["ann"], require={"language": "en"})) == {"bob"}


def test_why_not():
    wanted = rule(require={"language": "de"}, exclude=["bob"])

    def say(rep, paused=None):
        return why_not(rep, wanted, POOL, SETTINGS, {}, paused or {})

    assert say("ann") is None
    assert say("ann", {"ann": "on leave until Monday."}) == "Ann Lee is paused: on leave until Monday."
    assert say("ann", {"ann": ""}) == "Ann Lee is paused."
    assert say("bob") == 'The rule "r" leaves Bob Ray out.'
    assert say("cem") == 'The rule "r" wants language = de, and Cem Kaya has none.'
    assert say("dee") == "dee has weight 0 here, so no lead goes to them."
    assert say("eve") == "eve is not in this pool."
    language = rule(require={"language": "de"})
    assert why_not("bob", language, POOL, SETTINGS, {}, {}) == 'The rule "r" wants language = de, and Bob Ray has EN.'
    assert why_not("bob", None, POOL, SETTINGS, {}, {}) is None
