"""The page of measurements is the one that its results give: no figure is typed by hand."""

import json

import pytest

from bench import page


def test_the_page_is_made_of_the_results():
    assert page.PAGE.read_text() == page.text(), "python -m bench page"


def test_its_figures_are_those_of_the_json():
    found = {name: json.loads((page.RESULTS / f"{name}.json").read_text()) for name in page.NAMES}
    text = page.PAGE.read_text()
    runs = [found["crm"][crm] for crm in ("salesforce", "hubspot")]
    for figure in (
        f"{found['intake']['echo']['per_second']:,.0f}",
        f"{found['intake']['fairturn']['per_second']:,.0f}",
        f"answers {found['intake']['ratio']:.2f} of",
        f"{found['flow']['sustained']['per_second']:,.0f}",
        f"{found['flow']['backlog']['per_second']:,.0f}",
        *(f"{run['seconds_to_crm'][at]:.1f}" for run in runs for at in ("p50", "p95", "p99")),
        *(f"{run[figure]:,}" for run in runs for figure in ("reads", "assigned", "owned")),
        *(f"{calls:,}" for run in runs for calls in run["api_calls"].values()),
        *(f"{rep} {n:,}" for reps in found["flow"]["counts"].values() for rep, n in reps.items()),
    ):
        assert figure in text


def test_the_readme_tells_the_same():
    runs = json.loads((page.RESULTS / "crm.json").read_text())
    one, other = runs["salesforce"], runs["hubspot"]
    readme = " ".join((page.PAGE.parents[2] / "README.md").read_text().split())
    told = (
        f"{one['leads']} leads with three webhooks each within a minute, a fifth of the people in the CRM already: "
        f"{one['api_calls']['salesforce']} API calls into a simulated Salesforce and "
        f"{other['api_calls']['hubspot']} into a simulated HubSpot instead of "
        f"{one['calls_one_per_event']:,}, 95 % there within "
        f"{one['seconds_to_crm']['p95']:.1f} s and {other['seconds_to_crm']['p95']:.1f} s"
    )
    assert told in readme
    for run in (one, other):
        assert run["there"]["people"] == run["leads"] / 5
        assert not any((run["lost"], run["duplicated"], run["there"]["owners_taken"], run["there"]["new_records"]))


@pytest.mark.parametrize("name", page.NAMES)
def test_results_say_on_what_they_were_made(name):
    machine = json.loads((page.RESULTS / f"{name}.json").read_text())["machine"]
    assert {"cpu", "cores", "system", "python", "postgresql", "versions", "commit", "at"} <= set(machine)
