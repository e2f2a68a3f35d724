"""What is committed speaks of the project alone: no maker's machine, no registry, no dead link."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))

# Written so that this file does not find itself.
MACHINES = re.compile(r"(?<![\w.~/-])/(?:wor[k]|roo[t]|hom[e]/\w|User[s]|opt/pyp[i]|opt/wheel[s]|tmp/\w+[.]?\d*)/")
REGISTRIES = re.compile(
    r"pypi[.]or[g]|pythonhosted[.]or[g]|registry[.]npmj[s]|proxy[.]golan[g]|(?<!emit-)index-ur[l]|find-link[s]|trusted-hos[t]"
)


@pytest.fixture(scope="module")
def tracked() -> dict[str, str]:
    """Path -> text of every committed text file."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout: nothing is committed here")
    files = {}
    for name in filter(None, done.stdout.split("\0")):
        raw = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        if b"\0" not in raw:
            files[name] = raw.decode()
    return files


@pytest.mark.parametrize("pattern", [MACHINES, REGISTRIES], ids=["machine paths", "registries"])
def test_no_trace_of_a_machine(tracked, pattern):
    found = [
        f"{name}:{number}: {hit.group()}"
        for name, text in tracked.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (hit := pattern.search(line))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_locks_pin_bytes_and_name_no_place(lock):
    text = lock.read_text()
    assert "://" not in text
    pins = re.split(r"\n(?=\S)", text.strip())
    assert pins
    assert not [pin.splitlines()[0] for pin in pins if "==" not in pin or "--hash=sha256:" not in pin]


def test_what_runs_and_what_checks_agree_on_versions():
    run, dev = (
        set(re.findall(r"^(\S+==[^\s;]+)", (ROOT / "requirements" / f).read_text(), re.MULTILINE))
        for f in ("run.txt", "dev.txt")
    )
    assert run <= dev


def test_the_locks_hold_what_the_projects_ask_for():
    """A dependency that was added, or a floor that was raised, without `make lock`."""
    router, simulators = (
        tomllib.loads((ROOT / name).read_text()) for name in ("pyproject.toml", "sims/pyproject.toml")
    )
    run = [*router["project"]["dependencies"], *simulators["project"]["dependencies"]]
    assert not missing(run, ROOT / "requirements/run.txt")
    assert not missing([*run, *router["dependency-groups"]["dev"]], ROOT / "requirements/dev.txt")


def missing(wanted: list[str], lock: Path) -> list[str]:
    pins = {
        canonicalize_name(name): version
        for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", lock.read_text(), re.MULTILINE)
    }
    asked = [Requirement(text) for text in wanted]
    return [str(need) for need in asked if not need.specifier.contains(pins.get(canonicalize_name(need.name), "0"))]


def test_links_lead_somewhere(tracked):
    dead = [
        f"{name}: {target}"
        for name, text in tracked.items()
        if name.endswith(".md")
        for target in links(text)
        if not leads_somewhere(ROOT / name, target)
    ]
    assert not dead, "\n".join(dead)


def links(markdown: str) -> list[str]:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", markdown, flags=re.DOTALL)
    return [to for to in re.findall(r"\]\(([^)\s]+)\)", prose) if not re.match(r"[a-z]+:", to)]


def leads_somewhere(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    found = page if not path else (page.parent / path)
    if not found.exists():
        return False
    return not anchor or anchor in anchors(found.read_text())


def anchors(markdown: str) -> set[str]:
    """GitHub's rule: lower case, punctuation dropped, spaces to hyphens, repeats numbered."""
    seen: dict[str, int] = {}
    found = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *$", re.sub(r"```.*?```", "", markdown, flags=re.DOTALL), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found


def test_the_changelog_has_a_place_for_what_is_next():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^## \[Unreleased\]$", changelog, re.MULTILINE)
    kinds = set(re.findall(r"^### (.+)$", changelog, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_decisions_are_numbered_and_listed():
    pages = sorted(page.name for page in (ROOT / "docs/decisions").glob("[0-9]*.md"))
    assert [page[:4] for page in pages] == [f"{n:04}" for n in range(1, len(pages) + 1)]
    listed = (ROOT / "docs/decisions/README.md").read_text()
    assert not [page for page in pages if f"]({page})" not in listed]
    for page in pages:
        text = (ROOT / "docs/decisions" / page).read_text()
        assert re.match(
            rf"# {page[:4]}: \S.+\n\nStatus: (proposed|accepted|replaced by \d{{4}})\. Date: \d{{4}}-\d\d-\d\d\.\n",
            text,
        ), page
