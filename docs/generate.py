"""Writes the reference pages from the program: python docs/generate.py. With --check, says which are stale."""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import typer.main

from crmsim import fidelity
from crmsim.hubspot import switches as hubspot_switches
from crmsim.salesforce import switches as salesforce_switches
from fairturn import config
from fairturn.cli import app

PAGES = Path(__file__).parent / "reference"
NOTE = "<!-- Written by docs/generate.py from the program; `make docs` writes it anew. -->\n"


# --- commands ----------------------------------------------------------------------------------------------------


def cli_page() -> str:
    """Every command with its options, in the order of `fairturn --help`."""
    root: Any = typer.main.get_command(app)
    lines = ["# Commands", "", NOTE, *prose(root.help), ""]
    lines += [
        "Every command that prints facts takes `--json`. `--config F` names the settings; without it they are",
        "`$FAIRTURN_CONFIG`, else `fairturn.toml` in the folder you are in. Commands that act, rather than look, write",
        "a row of history with `--actor` and `--reason`. They work whether `fairturn serve` runs or not: if not, they",
        "start its database for as long as they need it.",
        "",
        "| exit code | meaning |",
        "| --- | --- |",
        "| 0 | done, or the answer is yes |",
        "| 1 | the answer is no: a fault in the settings, an audit that does not add up, a lead missing or twice |",
        "| 2 | asked wrongly, or of something that does not exist |",
        "| 3 | the database, the CRM or the port to listen on is not available |",
        "",
    ]
    for path, command in commands(root, ("fairturn",)):
        lines += section(path, command)
    return "\n".join(lines).rstrip() + "\n"


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, child in command.commands.items():
        if hasattr(child, "commands"):
            yield from commands(child, (*path, name))
        else:
            yield (*path, name), child


def section(path: tuple[str, ...], command: Any) -> list[str]:
    words = [shown(param) for param in command.params if is_argument(param)]
    options = [param for param in command.params if not is_argument(param) and not param.hidden]
    lines = [
        f"## {' '.join(path)}",
        "",
        "```",
        " ".join([*path, *words, *(["[options]"] if options else [])]),
        "```",
        "",
    ]
    lines += [*prose(command.help), ""]
    rows = [row(param) for param in sorted(command.params, key=is_option) if not param.hidden]
    if rows:
        lines += ["| option | meaning |", "| --- | --- |", *rows, ""]
    if command.epilog:
        lines += [command.epilog.replace("Example: ", "Example:\n\n```sh\n", 1) + "\n```", ""]
    return lines


def is_option(param: Any) -> bool:
    return not is_argument(param)


def is_argument(param: Any) -> bool:
    return not param.opts[0].startswith("-")


def shown(param: Any) -> str:
    text = param.metavar or param.name.upper()
    return text if param.required or text.startswith("[") else f"[{text}]"


def row(param: Any) -> str:
    if is_argument(param):
        name = f"`{param.metavar or param.name.upper()}`"
    else:
        forms = ", ".join(f"`{form}`" for form in (*param.opts, *param.secondary_opts))
        name = forms if param.is_flag else f"{forms} {value(param)}"
    tail = " Required." if param.required and not is_argument(param) else default(param)
    return f"| {name} | {escape(param.help or '')}{tail} |"


def value(param: Any) -> str:
    if param.metavar:
        return f"`{param.metavar}`"
    choices = choices_of(param.type_descriptor.annotation)
    if choices:
        return " or ".join(f"`{choice}`" for choice in choices)
    kind = getattr(param.type_descriptor.annotation, "__name__", "")
    return {"int": "`N`", "float": "`X`"}.get(kind, "`TEXT`")


def choices_of(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if str(get_origin(annotation)) == "typing.Literal" else ()


def default(param: Any) -> str:
    if is_argument(param) or param.is_flag or param.default in (None, False) or not param.show_default:
        return ""
    return f" Default: `{param.default}`."


def prose(text: str | None) -> list[str]:
    parts = (" ".join(part.split()) for part in (text or "").split("\n\n"))
    return [line for part in parts for line in (*textwrap.wrap(part, 120, break_long_words=False), "")][:-1]


def escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


# --- settings ----------------------------------------------------------------------------------------------------

WHERE = {
    "Organisation": "[organisation]",
    "Server": "[server]",
    "Retention": "[retention]",
    "Routing": "[routing]",
    "Source": "[sources.ID]",
    "Hmac": 'verify = { type = "hmac", ... }, of a source',
    "SharedSecret": 'verify = { type = "shared_secret", ... }, of a source',
    "Unsigned": 'verify = { type = "unsigned" }, of a source',
    "Rep": "[reps.ID]",
    "Pool": "[pools.ID]",
    "Rule": "[[rules]]",
    "Destination": "[destinations.ID]",
    "MapTo": "[destinations.ID.map]: FIELD = { ... }",
    "Settings": "At the top of the file",
}
KINDS = {
    "str": "text", "int": "whole number", "float": "number", "bool": "true or false", "Duration": "duration",
    "Id": "id", "Weight": "0 to 10000", "FieldType": '"text", "integer", "number", "boolean" or "time"',
    "Priority": '"high", "normal" or "bulk"', "MapTo": "table", "Verify": "table",
}  # fmt: skip


def config_page() -> str:
    """Every setting with its type, its default and the comment beside it in config.py."""
    source = Path(str(config.__file__)).read_text(encoding="utf-8")
    tree = ast.parse(source)
    comments = source.splitlines()
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in WHERE}
    lines = ["# Settings", "", NOTE]
    lines += [
        "`fairturn.toml`, in TOML. `fairturn init` writes one that works; `fairturn check` names every fault with its",
        'line. Durations are text with a unit: `"2s"`, `"15m"`, `"24h"`, `"30d"`. Secrets are never in the file: a',
        'setting that needs one holds `"env:NAME"` or `"file:path"`. Relative paths begin at the folder of the',
        "settings, whatever folder a command is given in. Ids are small letters, digits, `_` and `-`.",
        "",
    ]
    for name, where in WHERE.items():
        lines += table(where, classes[name], comments)
    lines += fields_table("Lead fields", "Every lead has these; `[fields]` adds more.", config.STANDARD_FIELDS)
    lines += fields_table("Derived fields", "Rules may read them, mappings may not set them.", config.DERIVED_FIELDS)
    return "\n".join(lines).rstrip() + "\n"


def table(where: str, node: ast.ClassDef, source: list[str]) -> list[str]:
    lines = [f"## `{where}`" if where.startswith("[") else f"## {where}", ""]
    if doc := ast.get_docstring(node):
        lines += [escape(doc), ""]
    lines += ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            kind, (given, bounds) = kind_of(field.annotation), default_of(field)
            meaning = escape(comment_of(field, source))
            lines.append(f"| `{field.target.id}` | {escape(kind)}{bounds} | {escape(given)} | {meaning} |")
    return [*lines, ""]


def comment_of(field: ast.AnnAssign, source: list[str]) -> str:
    """The comment behind the field, or the one above it."""
    line = source[(field.end_lineno or field.lineno) - 1]
    behind = line[field.end_col_offset or 0 :].strip()
    if behind.startswith("#"):
        return behind.lstrip("# ")
    above = source[field.lineno - 2].strip()
    return above.lstrip("# ") if above.startswith("#") else ""


def kind_of(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return KINDS.get(name, name)
        case ast.Constant(value=None):
            return ""
        case ast.BinOp(left=left, right=right):
            return " or ".join(part for part in (kind_of(left), kind_of(right)) if part)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            words = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return " or ".join(f'"{word.value!s}"' for word in words if isinstance(word, ast.Constant))
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[first, *_])):
            return f"list of {kind_of(first)}"
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, inner])):
            return f"table: {kind_of(key)} = {kind_of(inner)}"
        case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[first, *_])):
            return kind_of(first)
    return ast.unparse(node)


def default_of(field: ast.AnnAssign) -> tuple[str, str]:
    """The default as TOML would have it, and the bounds."""
    if field.value is None:
        return "required", ""
    if isinstance(field.value, ast.Call) and ast.unparse(field.value.func) == "Field":
        options = {word.arg: word.value for word in field.value.keywords}
        low, high = (f"{reckon(options[word])}" if word in options else "" for word in ("ge", "le"))
        bounds = f", {low} to {high}" if high else f", {low} or more" if low else ""
        return (toml(options["default"], field) if "default" in options else "required"), bounds
    return toml(field.value, field), ""


def reckon(node: ast.expr) -> Any:
    """A literal, or arithmetic on literals: 30 * 86400.0"""
    return eval(ast.unparse(node), {"__builtins__": {}})  # noqa: S307 - text of our own module


def toml(node: ast.expr, field: ast.AnnAssign) -> str:
    if isinstance(node, ast.Call):
        return ""
    found = reckon(node)
    if found is None or found in ((), {}):
        return ""
    if "Duration" in ast.unparse(field.annotation):
        return f'`"{duration(float(found))}"`'
    if isinstance(found, bool):
        return f"`{str(found).lower()}`"
    return f'`"{found}"`' if isinstance(found, str) else f"`{found}`"


def duration(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"


def fields_table(heading: str, words: str, fields: dict[str, Any]) -> list[str]:
    rows = [f"| `{name}` | {kind} |" for name, kind in fields.items()]
    return [f"## {heading}", "", words, "", "| field | type |", "| --- | --- |", *rows, ""]


# --- simulators --------------------------------------------------------------------------------------------------


def simulators_page() -> str:
    """What crmsim does and what it rests on, from the tables beside its code; its switches with their defaults."""
    lines = ["# The simulators", "", NOTE]
    lines += [
        "`crmsim` is a simulated Salesforce and a simulated HubSpot in one process.",
        "[Its page](../../sims/README.md) says how to start it, fill it and break it; this one what it does, where",
        "that is known from, and what is a switch.",
        "",
        "| word | what a behaviour rests on |",
        "| --- | --- |",
        *(f"| {word} | {meaning} |" for word, meaning in fidelity.CONFIDENCES.items()),
        "",
    ]
    for name, groups, module in (
        ("Salesforce", fidelity.SALESFORCE, salesforce_switches),
        ("HubSpot", fidelity.HUBSPOT, hubspot_switches),
    ):
        lines += [f"## {name}", "", counted(groups), ""]
        for group, behaviours in groups.items():
            lines += [
                f"### {name}: {group.lower()}",
                "",
                "| behaviour | rests on | | switch |",
                "| --- | --- | --- | --- |",
            ]
            lines += [behaviour_row(item) for item in behaviours]
            lines += [""]
        lines += [f"### {name}: switches", "", *switches_table(Path(str(module.__file__)))]
    return "\n".join(lines).rstrip() + "\n"


def counted(groups: Mapping[str, tuple[fidelity.Behaviour, ...]]) -> str:
    found = [item.confidence for behaviours in groups.values() for item in behaviours]
    numbers = ", ".join(f"{found.count(word)} {word}" for word in fidelity.CONFIDENCES)
    return f"{len(found)} behaviours: {numbers}."


def behaviour_row(item: fidelity.Behaviour) -> str:
    names = [name.strip() for name in (item.switch or "").split(",")]
    switches = ", ".join(f"`{name}`" for name in names if name)
    return f"| {escape(item.name)} | {escape(item.source)} | {item.confidence} | {switches} |"


def switches_table(path: Path) -> list[str]:
    """The fields of the class Switches, with the comment beside each."""
    source = path.read_text(encoding="utf-8")
    [node] = [one for one in ast.parse(source).body if isinstance(one, ast.ClassDef) and one.name == "Switches"]
    lines = ["| switch | default | meaning |", "| --- | --- | --- |"]
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value is not None:
            default = ast.unparse(field.value).replace("'", '"').replace("()", "[]")
            given = {"True": "true", "False": "false"}.get(default, default)
            lines.append(f"| `{field.target.id}` | `{given}` | {escape(comment_of(field, source.splitlines()))} |")
    return [*lines, ""]


# --- all of them -------------------------------------------------------------------------------------------------


def pages() -> dict[Path, str]:
    return {
        PAGES / "cli.md": cli_page(),
        PAGES / "config.md": config_page(),
        PAGES / "simulators.md": simulators_page(),
    }


def main() -> int:
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"{path.name} is not what the program says: make docs")
        return 1 if stale else 0
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"wrote {', '.join(path.name for path in stale)}" if stale else "the reference pages are up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
