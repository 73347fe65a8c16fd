"""Each rule of another protocol finds the fault that is planted for it, and no other rule takes it for its own."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.helpers.thorough_values import one_in
from tests.sdk.helpers.broken_container import PATIENT
from tests.sdk.helpers.broken_protocols import TFS_FAULTS, V2_FAULTS, served
from torpor.cli import app
from torpor.conformance.container import CheckedContainer, Material, UseCase
from torpor.conformance.container_client import ContainerClient
from torpor.conformance.findings_report import ID_WIDTH
from torpor.conformance.judging import RuleOutcome
from torpor.conformance.protocols import PROTOCOL_RULES
from torpor.conformance.rule_run import Finding, run
from torpor.conformance.rules import BY_ID

FAULTS = [(UseCase.V2, fault, breaks) for fault, breaks in V2_FAULTS.items()]
FAULTS += [(UseCase.TFS, fault, breaks) for fault, breaks in TFS_FAULTS.items()]


def checked(port: int, use: UseCase, material: Material) -> list[Finding]:
    container = CheckedContainer(ContainerClient("127.0.0.1", port), frozenset({use}), material, PATIENT)
    return [one for one in run(PROTOCOL_RULES, container) if one.judgement is not RuleOutcome.NOT_APPLICABLE]


def of(findings: list[Finding], judgement: RuleOutcome) -> list[tuple[str, str]]:
    return [(one.rule.id, one.reason) for one in findings if one.judgement is judgement]


@pytest.mark.parametrize("use", [UseCase.V2, UseCase.TFS])
def test_a_server_without_a_fault_keeps_every_rule(use: UseCase) -> None:
    with served() as port:
        findings = checked(port, use, Material(served="sum"))
    assert {one.judgement for one in findings} == {RuleOutcome.KEPT}
    assert len(findings) >= 8


@pytest.mark.parametrize(("use", "fault", "breaks"), one_in(4, FAULTS), ids=[fault for _, fault, _ in FAULTS])
def test_a_planted_fault_is_found_by_its_rule_alone(use: UseCase, fault: str, breaks: str) -> None:
    with served(fault) as port:
        found = of(checked(port, use, Material(served="sum")), RuleOutcome.BROKEN)
    assert [rule for rule, _ in found] == [breaks], found


def test_every_rule_has_a_planted_fault_and_a_name_of_its_own() -> None:
    ids = [one.id for one in PROTOCOL_RULES]
    assert set(ids) == {breaks for _, _, breaks in FAULTS}
    assert not set(ids) & set(BY_ID)
    assert max(map(len, ids)) < ID_WIDTH
    places = {id: place for place, id in enumerate(ids)}
    assert not [one.id for one in PROTOCOL_RULES for need in one.needs if places.get(need, -1) >= places[one.id]]


def test_a_request_of_the_callers_own_is_sent_and_one_that_is_refused_skips_what_needs_it() -> None:
    tensor = {"name": "rows", "shape": [2, 3], "datatype": "FP32", "data": [1, 2, 3, 4, 5, 6]}
    with served() as port:
        good = Material(served="sum", request=json.dumps({"inputs": [tensor]}).encode())
        assert of(checked(port, UseCase.V2, good), RuleOutcome.BROKEN) == []
        bad = Material(served="sum", request=b'{"inputs": []}')
        skipped = dict(of(checked(port, UseCase.V2, bad), RuleOutcome.SKIPPED))
    assert "the model refuses the body of --body" in skipped["v2-infer"]
    assert skipped["v2-id"] == skipped["v2-infer"] or "v2-infer is skipped" in skipped["v2-id"]


def test_the_command_judges_a_server_of_a_protocol(tmp_path: Path) -> None:
    with served("id is lost") as port:
        url = ("--url", f"http://127.0.0.1:{port}")
        done = CliRunner().invoke(app, ["conformance", "--protocol", "v2", "--model", "sum", *url, "--json"])
        told = json.loads(done.stdout)
        assert (done.exit_code, told["uses"], told["mend_first"]) == (1, ["v2"], "v2-id")
        shown = CliRunner().invoke(app, ["conformance", "--protocol", "tfs", "--model", "sum", *url])
        assert (shown.exit_code, "tfs-rows" in shown.stdout, "ping-200" in shown.stdout) == (0, True, False)
    for options, says in (
        (["--protocol", "v3", *url], "--protocol is v2 or tfs, not v3"),
        (["--protocol", "v2", *url], "name one model that the server has"),
        (["--protocol", "v2", "--model", "sum", "--as", "batch", *url], "--as is of SageMaker's contract"),
        (["--protocol", "v2", "--model", "sum", "--content-type", "a/b", *url], "--content-type is of SageMaker's"),
        (["--protocol", "v2", "--model", "sum", "--header", "x", *url], "--header x is not NAME:VALUE"),
        (["--header", "x:y", *url], "--header goes with --protocol"),
        (["--protocol", "tfs", "--only", "v2-id", *url], "--only v2-id is no rule"),
    ):
        refused = CliRunner().invoke(app, ["conformance", *options])
        assert (refused.exit_code, says in " ".join(refused.stderr.replace("│", " ").split())) == (2, True), (
            refused.stderr
        )
