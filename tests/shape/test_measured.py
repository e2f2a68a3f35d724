"""The pages and pictures of measurements are those that the results give: no figure is typed by hand."""

import json

import pytest

from bench import page
from bench.page import marked
from bench.plots import digest_in

RESULTS = page.read(page.RESULTS)
PICTURES = page.PAGE.parent / "plots"
WRITE = "python -m bench page"


def test_the_page_is_made_of_the_results():
    assert page.PAGE.read_text() == page.text(RESULTS), WRITE


@pytest.mark.parametrize("text", [page.README, page.ARTICLES], ids=lambda path: path.stem)
def test_figures_in_pages_written_by_hand_are_those_of_the_results(text):
    folder = "docs/explanation/plots" if text == page.README else "plots"
    assert text.read_text() == page.by_hand(text, RESULTS, folder), WRITE
    assert marked.names(text.read_text())


@pytest.mark.parametrize("plot", page.plots(RESULTS), ids=lambda plot: plot.name)
def test_a_picture_is_the_one_of_the_results(plot):
    """By the digest that it carries: two versions of a font do not draw the same bytes."""
    svg = (PICTURES / f"{plot.name}.svg").read_text()
    assert digest_in(svg) == plot.digest, WRITE
    assert len(svg) < 100_000
    assert "<text" in svg  # words are words, not outlines


def test_no_picture_is_left_over():
    assert {file.stem for file in PICTURES.glob("*.svg")} == {plot.name for plot in page.plots(RESULTS)}, WRITE


def test_its_figures_are_those_of_the_json():
    """Read from the files apart from the page's own reading."""
    crm, flow = (json.loads((page.RESULTS / f"{name}.json").read_text()) for name in ("crm", "flow"))
    text = page.PAGE.read_text()
    runs = [crm[one] for one in ("salesforce", "hubspot")]
    for figure in (
        f"{flow['sustained']['per_second']:,.0f}",
        f"{flow['backlog']['per_second']:,.0f}",
        *(f"{run['seconds_to_crm'][at]:.1f}" for run in runs for at in ("p50", "p95", "p99")),
        *(f"{run[figure]:,}" for run in runs for figure in ("reads", "assigned", "owned")),
        *(f"{calls:,}" for run in runs for calls in run["api_calls"].values()),
        *(f"{rep} {n:,}" for reps in flow["counts"].values() for rep, n in reps.items()),
    ):
        assert figure in text


def test_the_readme_tells_the_same():
    runs = json.loads((page.RESULTS / "crm.json").read_text())
    one, other = runs["salesforce"], runs["hubspot"]
    readme = " ".join(page.README.read_text().split())
    told = (
        f"{one['leads']} leads with three webhooks each within 60 s, 20 % of the people in the CRM already: "
        f"{one['api_calls']['salesforce']} API calls into a simulated Salesforce and "
        f"{other['api_calls']['hubspot']} into a simulated HubSpot instead of "
        f"{one['calls_one_per_event']:,}, 95 % there within "
        f"{one['seconds_to_crm']['p95']:.1f} s and {other['seconds_to_crm']['p95']:.1f} s, "
        "nobody lost or twice, no owner taken."
    )
    assert told in readme
    for run in (one, other):
        assert run["there"]["people"] == run["leads"] / 5
        assert not any((run["lost"], run["duplicated"], run["there"]["owners_taken"], run["there"]["new_records"]))


@pytest.mark.parametrize("name", list(RESULTS))
def test_results_say_on_what_they_were_made(name):
    machine = RESULTS[name]["machine"]
    assert {"cpu", "cores", "system", "python", "postgresql", "versions", "commit", "at"} <= set(machine)
