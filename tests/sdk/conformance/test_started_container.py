"""Containers that a command starts: what is found of their start and end, and that none is left behind."""

import sys

import pytest

from tests.helpers.ports import free_port
from tests.helpers.processes import marked
from tests.sdk.helpers.broken_container import COMMAND_FAULTS, HURRIED, PIPELINE, SINGLE
from torpor.conformance.container import CheckedContainer, Material
from torpor.conformance.container_client import ContainerClient
from torpor.conformance.judging import RuleOutcome
from torpor.conformance.rule_run import Finding, run
from torpor.conformance.rules import BY_ID
from torpor.conformance.started_container import PORT, StartedContainer

RULES = [BY_ID[id] for id in ("starts", "listens", "ping-200", "invoke", "bind-to-port", "stops")]
SERVE = [sys.executable, "-m", "tests.sdk.helpers.broken_container", "serve"]


def checked(material: Material, command: list[str]) -> list[Finding]:
    """The findings for the container of this command. One that ignores its port listens on another free one."""
    other, mark = free_port(), f"of-{free_port()}"
    limits = HURRIED.scaled(0.2) if "is never ready" in command else HURRIED
    with StartedContainer(command, {"OTHER_PORT": str(other), "MARK": mark}, default_port=other) as process:
        client = ContainerClient("127.0.0.1", process.port(limits.start_s))
        uses = frozenset({SINGLE, PIPELINE})
        findings = run(RULES, CheckedContainer(client, uses, material, limits, process))
    assert marked(f"MARK={mark}") == []
    return findings


def broken_in(findings: list[Finding]) -> dict[str, str]:
    return {one.rule.id: one.reason for one in findings if one.judgement is RuleOutcome.BROKEN}


def test_a_command_without_a_fault_is_started_judged_and_ended(material: Material) -> None:
    assert [finding.judgement for finding in checked(material, SERVE)] == [RuleOutcome.KEPT] * len(RULES)


@pytest.mark.parametrize("fault", COMMAND_FAULTS)
def test_a_fault_of_the_command_is_found_by_its_rule_alone(material: Material, fault: str) -> None:
    assert list(broken_in(checked(material, [*SERVE, fault]))) == [COMMAND_FAULTS[fault]]


def test_a_command_that_ends_is_quoted(material: Material) -> None:
    [finding, *_] = checked(material, [*SERVE, "exits at once"])
    assert (finding.reason, finding.seen) == ("the command ended with exit status 1", "no licence found")


def test_a_port_in_the_command_proves_nothing_of_the_variable(material: Material) -> None:
    by_id = {finding.rule.id: finding for finding in checked(material, [*SERVE, PORT])}
    assert by_id["bind-to-port"].judgement is RuleOutcome.SKIPPED
    assert by_id["invoke"].judgement is RuleOutcome.KEPT


def test_a_command_that_does_not_exist_raises_and_leaves_nothing() -> None:
    with pytest.raises(FileNotFoundError):
        StartedContainer(["there-is-no-such-program"], {})
