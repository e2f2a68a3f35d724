"""`crmsim serve`: the command line."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from crmsim import __version__
from crmsim.hubspot.options import HubspotOptions
from crmsim.options import Doors, Setup
from crmsim.salesforce.options import SalesforceOptions
from crmsim.salesforce.sessions import App
from crmsim.server import serve


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="crmsim", description="Simulated CRMs for tests and demonstrations.")
    top.add_argument("--version", action="version", version=f"crmsim {__version__}")
    command = top.add_subparsers(dest="command", required=True).add_parser(
        "serve",
        help="run the simulator until SIGTERM",
        description="Prints one line of JSON with its address when it is ready. All seconds are simulated seconds.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = command.add_argument
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=0, help="0: any free port")
    add("--time-scale", type=float, default=1.0, help="real seconds for one simulated second; 0.1 is ten times faster")
    add("--latency", type=float, default=0.5, help="seconds of every data request")
    add("--latency-per-record", type=float, default=0.01, help="seconds of every record in it")
    add("--latency-read", type=float, help="seconds of every request that only reads; none: as --latency")
    add("--latency-token", type=float, default=0.1, help="seconds of the token endpoint")
    add("--rng-seed", type=int, default=1, help="of the ids")
    add("--seed-file", type=Path, help="JSON: users, queues, accounts, leads, contacts, fields, assignment_rule")
    add("--faults", type=Path, help="JSON: the fault plan")
    add("--switch", action="append", default=[], metavar="NAME=VALUE", help="see README; may be repeated")
    add("--client-id", default="crmsim-client", help="of the connected app")
    add("--client-secret", default=os.environ.get("CRMSIM_CLIENT_SECRET", "crmsim-secret"), help=argparse.SUPPRESS)
    add("--password", default=os.environ.get("CRMSIM_PASSWORD", App().password), help=argparse.SUPPRESS)
    add("--jwt-key", type=Path, help="PEM: the public key, or the certificate, of the JWT bearer flow")
    add("--api-limit", type=int, default=100_000, help="API requests a day")
    add("--evidence-file", type=Path, help="append the evidence to this file as JSON lines")
    add("--evidence-requests", type=int, default=20_000, help="requests kept in memory")
    add("--https", action="store_true", help="https beside http, with a certificate made here")
    add("--https-port", type=int, default=0, help="of Salesforce; 0: any free port")
    add("--certificate", type=Path, metavar="DIR", help="keeps the certificate, for the next start too")
    add("--exit-with-parent", action="store_true", help="end when stdin closes")
    _hubspot_arguments(command)
    return top


def _hubspot_arguments(command: argparse.ArgumentParser) -> None:
    known, group = HubspotOptions(), command.add_argument_group("HubSpot", "its app has the client id and secret too")
    add = group.add_argument
    add("--hubspot-port", type=int, help="a simulated HubSpot too, with the same clock; 0: any free port")
    add("--hubspot-https-port", type=int, default=0, help="0: any free port")
    add("--hubspot-latency", type=float, default=known.latency, help="seconds of every data request")
    add("--hubspot-latency-per-record", type=float, default=known.latency_per_record, help="of every record in it")
    add("--hubspot-token", default=os.environ.get("CRMSIM_HUBSPOT_TOKEN", known.token), help=argparse.SUPPRESS)
    add("--hubspot-burst-limit", type=int, default=known.burst_limit, help="requests of the app in ten seconds")
    add("--hubspot-daily-limit", type=int, default=known.daily_limit, help="requests of the account in a day")
    add("--hubspot-seed-file", type=Path, help="JSON, see README")
    add("--hubspot-faults", type=Path, help="JSON: the fault plan")
    add("--hubspot-switch", action="append", default=[], metavar="NAME=VALUE", help="see README; may be repeated")
    add("--hubspot-evidence-file", type=Path, help="append HubSpot's evidence to this file as JSON lines")


def main(arguments: list[str] | None = None) -> int:
    """Exit code: 0 after a stop, 2 for a wrong command line, seed or plan, 1 for a port that is taken."""
    top = parser()
    given = top.parse_args(arguments)
    try:
        salesforce = SalesforceOptions(
            latency=given.latency,
            latency_per_record=given.latency_per_record,
            latency_read=given.latency_read,
            latency_token=given.latency_token,
            rng_seed=given.rng_seed,
            app=_app(given),
            api_limit=given.api_limit,
            evidence_file=given.evidence_file,
            evidence_requests=given.evidence_requests,
            seed=_document(given.seed_file),
            plan=_document(given.faults),
            switches=dict(map(_switch, given.switch)),
        )
        hubspot = None if given.hubspot_port is None else _hubspot(given)
        setup = Setup(salesforce, hubspot, given.time_scale)
        serve(setup, _doors(given), exit_with_parent=given.exit_with_parent)
    except ValueError as trouble:
        print(f"crmsim: {trouble}", file=sys.stderr)
        return 2
    except OSError as trouble:
        print(f"crmsim: {trouble}", file=sys.stderr)
        return 1
    return 0


def _doors(given: argparse.Namespace) -> Doors:
    return Doors(
        host=given.host,
        port=given.port,
        hubspot_port=given.hubspot_port or 0,
        https=given.https or given.certificate is not None,
        https_port=given.https_port,
        hubspot_https_port=given.hubspot_https_port,
        certificate=given.certificate,
    )


def _app(given: argparse.Namespace) -> App:
    key = given.jwt_key.read_text(encoding="ascii") if given.jwt_key else ""
    return App(given.client_id, given.client_secret, given.password, jwt_key=key)


def _hubspot(given: argparse.Namespace) -> HubspotOptions:
    return HubspotOptions(
        latency=given.hubspot_latency,
        latency_per_record=given.hubspot_latency_per_record,
        latency_token=given.latency_token,
        rng_seed=given.rng_seed,
        token=given.hubspot_token,
        client_id=given.client_id,
        client_secret=given.client_secret,
        burst_limit=given.hubspot_burst_limit,
        daily_limit=given.hubspot_daily_limit,
        evidence_file=given.hubspot_evidence_file,
        evidence_requests=given.evidence_requests,
        seed=_document(given.hubspot_seed_file),
        plan=_document(given.hubspot_faults),
        switches=dict(map(_switch, given.hubspot_switch)),
    )


def _document(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as trouble:
        raise ValueError(f"{path}: no JSON: {trouble}") from None
    if not isinstance(document, dict):
        raise ValueError(f"{path}: must hold a JSON object")
    return document


def _switch(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--switch {text}: write NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
