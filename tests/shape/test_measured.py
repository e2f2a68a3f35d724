"""The page of measurements is the one that its results give: no figure is typed by hand."""

import json

import pytest

from bench import page


def test_the_page_is_made_of_the_results():
    assert page.PAGE.read_text() == page.text(), "python -m bench page"


def test_its_figures_are_those_of_the_json():
    found = {name: json.loads((page.RESULTS / f"{name}.json").read_text()) for name in ("intake", "flow")}
    text = page.PAGE.read_text()
    for figure in (
        f"{found['intake']['echo']['per_second']:,.0f}",
        f"{found['intake']['fairturn']['per_second']:,.0f}",
        f"answers {found['intake']['ratio']:.2f} of",
        f"{found['flow']['sustained']['per_second']:,.0f}",
        f"{found['flow']['backlog']['per_second']:,.0f}",
        *(f"{rep} {n:,}" for reps in found["flow"]["counts"].values() for rep, n in reps.items()),
    ):
        assert figure in text


@pytest.mark.parametrize("name", ["intake", "flow"])
def test_results_say_on_what_they_were_made(name):
    machine = json.loads((page.RESULTS / f"{name}.json").read_text())["machine"]
    assert {"cpu", "cores", "system", "python", "postgresql", "versions", "commit", "at"} <= set(machine)
