"""The program: its ready line, its ends, its files, its complaints."""

import json
import signal
import ssl
import stat
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest


def test_ready_line_and_end_by_sigterm(launch):
    with launch() as (process, ready):
        assert ready["ready"] is True
        assert ready["ports"]["salesforce"] > 0
        assert ready["control"] == ready["salesforce"] + "/__sim__"
        assert ready["pid"] == process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_ends_when_its_stdin_closes(launch):
    with launch() as (process, _):
        process.stdin.close()
        assert process.wait(10) == 0


def test_sigterm_ends_a_request_that_hangs(launch, connect, person):
    with launch("--time-scale", "1") as (process, ready):
        crm = connect(ready)
        crm.login()
        crm.fault("hang", seconds=3600)
        waiting = crm.later(crm.upsert, person("a"))
        crm.wait(resting=1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert waiting.exception() is not None


def test_seed_faults_switches_and_evidence_come_from_files(launch, connect, person, tmp_path):
    seed, faults, evidence = tmp_path / "seed.json", tmp_path / "faults.json", tmp_path / "evidence.jsonl"
    seed.write_text(json.dumps({"accounts": [{"Name": "Acme", "Fairturn_Key__c": "acme.test"}]}))
    faults.write_text(json.dumps({"faults": [{"kind": "unavailable", "on": "write", "nth": [2]}]}))
    files = ["--seed-file", str(seed), "--faults", str(faults), "--evidence-file", str(evidence)]
    flags = ["--time-scale", "0.01", "--switch", "length_unit=codepoints", "--client-id", "crmsim-client"]
    with launch(*files, *flags) as (process, ready):
        crm = connect(ready)
        crm.login()
        assert crm.sim("/switches")["length_unit"] == "codepoints"
        [row] = crm.rows(person("a", Account__r={"Fairturn_Key__c": "acme.test"}))
        assert crm.upsert(person("b")).status_code == 503
        crm.wait(answered=3)  # an answer's line follows the answer: a kill between the two would take it
        process.kill()
        process.wait(10)
    lines = [json.loads(line) for line in evidence.read_text().splitlines()]
    requests = [line["request"] for line in lines if "request" in line]
    assert [(entry["kind"], entry["status"]) for entry in requests] == [("token", 200), ("write", 200), ("write", 503)]
    [commit] = [line for line in lines if "commit" in line]
    assert commit["commit"] == requests[1]["n"]
    assert commit["versions"][0]["id"] == row["id"]


def test_memory_is_bounded_by_requests(launch, connect):
    with launch("--evidence-requests", "3", "--latency", "0") as (_, ready):
        crm = connect(ready)
        crm.login()
        for _ in range(5):
            crm.call("GET", "limits")
        found = crm.sim("/requests")
        assert [entry["n"] for entry in found["requests"]] == [4, 5, 6]
        assert found["dropped"] == 3
        assert crm.sim("/summary")["read_requests"] == 5


def test_hubspot_has_a_door_and_controls_of_its_own(launch):
    with launch("--hubspot-port", "0", "--https") as (_, ready), trusting(ready) as http:
        assert set(ready["ports"]) == {"salesforce", "salesforce_https", "hubspot", "hubspot_https"}
        assert len(set(ready["ports"].values())) == 4
        assert ready["hubspot_control"] == ready["hubspot"] + "/__sim__"
        assert ready["control"] == ready["salesforce"] + "/__sim__"
        for base in (ready["hubspot"], ready["hubspot_https"]):
            assert http.get(base + "/__sim__/health").json() == {"ok": True}
            assert http.get(base + "/services/data").status_code != 200


def trusting(ready):
    return httpx2.Client(verify=ssl.create_default_context(cafile=ready["certificate"]), timeout=10)


def test_https_speaks_for_the_same_org(launch, connect):
    with launch("--https", "--time-scale", "0.01") as (_, ready), trusting(ready) as http:
        assert ready["ports"]["salesforce_https"] > 0
        for host in ("127.0.0.1", "localhost"):
            url = f"https://{host}:{ready['ports']['salesforce_https']}"
            answer = http.post(
                f"{url}/services/oauth2/token",
                data={"grant_type": "client_credentials"},
                auth=("crmsim-client", "crmsim-secret"),
            )
            assert answer.json()["instance_url"] == url
        assert connect(ready).sim("/summary")["token_requests"] == 2
        with pytest.raises(httpx2.ConnectError):  # to whoever does not trust it, it is a stranger
            httpx2.get(ready["salesforce_https"] + "/services/data", timeout=10)


def test_a_reset_is_a_reset_over_https_too(launch, connect):
    with launch("--https", "--time-scale", "0.01") as (_, ready), trusting(ready) as http:
        crm = connect(ready)
        crm.fault("reset_before", on="any", times=1)
        with pytest.raises(httpx2.TransportError):
            http.get(ready["salesforce_https"] + "/services/data")
        assert http.get(ready["salesforce_https"] + "/services/data").status_code == 200


def test_a_certificate_can_be_kept(launch, tmp_path):
    folder = tmp_path / "kept"
    found = []
    for _ in range(2):
        with launch("--certificate", str(folder)) as (_, ready), trusting(ready) as http:
            assert http.get(ready["salesforce_https"] + "/services/data").status_code == 200
            found.append(Path(ready["certificate"]).read_bytes())
    assert found[0] == found[1]
    assert stat.S_IMODE((folder / "crmsim.key").stat().st_mode) == 0o600


def test_a_certificate_not_kept_goes_with_the_process(launch):
    with launch("--https") as (process, ready):
        assert Path(ready["certificate"]).exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert not Path(ready["certificate"]).exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--time-scale", "0"], "the time scale must be above 0"),
        (["--switch", "length_unit"], "write NAME=VALUE"),
        (["--switch", "length_unit=miles"], "length_unit must be one of"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(arguments, said):
    command = [sys.executable, "-m", "crmsim", "serve", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("crmsim: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
