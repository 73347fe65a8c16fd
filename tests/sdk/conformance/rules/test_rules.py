"""Each rule finds the fault that is planted for it, and no other rule takes that fault for its own."""

from collections.abc import Collection

import pytest

from tests.helpers.ports import free_port
from tests.sdk.helpers.broken_container import (
    COMMAND_FAULTS,
    FAULTS,
    MULTI,
    PATIENT,
    PROTOCOLS,
    SINGLE,
    broken,
)
from torpor.conformance.container import CheckedContainer, Material, UseCase
from torpor.conformance.container_client import ContainerClient
from torpor.conformance.judging import RuleOutcome
from torpor.conformance.limits import ContractLimits
from torpor.conformance.rule import LISTENS
from torpor.conformance.rule_run import Finding, run
from torpor.conformance.rules import BY_ID, RULES

KEPT_OR_NOT_FOR_IT = {RuleOutcome.KEPT, RuleOutcome.NOT_APPLICABLE}


MOST_TRIES = 3
"""A rule that needs two requests at once may find, on a busy machine, that the first has ended: once, not each time."""


def checked(
    port: int, material: Material, uses: Collection[UseCase], limits: ContractLimits = PATIENT
) -> list[Finding]:
    container = CheckedContainer(ContainerClient("127.0.0.1", port), frozenset(uses), material, limits)
    return run(RULES, container)


def not_kept(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.judgement not in KEPT_OR_NOT_FOR_IT]


def ids_of_broken(findings: list[Finding]) -> list[str]:
    return [finding.rule.id for finding in findings if finding.judgement is RuleOutcome.BROKEN]


def uses_for(use: UseCase) -> set[UseCase]:
    return {use} if use is MULTI else {SINGLE, use}


@pytest.mark.parametrize("base", [SINGLE, MULTI])
def test_a_container_without_a_fault_keeps_every_rule(material: Material, base: UseCase) -> None:
    others = set(UseCase) - {SINGLE, MULTI, *PROTOCOLS}
    with broken() as port:
        assert not_kept(checked(port, material, {base, *others})) == []


FEW = set(list(FAULTS)[::8])
"""Faults of each use and kind; the others take over a minute more."""
faults = [pytest.param(fault, marks=() if fault in FEW else pytest.mark.thorough) for fault in FAULTS]


@pytest.mark.parametrize("fault", faults)
def test_a_planted_fault_is_found_by_its_rule_alone(material: Material, fault: str) -> None:
    planted = FAULTS[fault]
    found: list[list[str]] = []
    while len(found) < MOST_TRIES and [planted.breaks] not in found:
        with broken(fault) as port:
            found.append(ids_of_broken(checked(port, material, uses_for(planted.use), planted.limits)))
    assert found[-1] == [planted.breaks], found


def test_every_rule_has_a_planted_fault() -> None:
    planted = {fault.breaks for fault in FAULTS.values()} | set(COMMAND_FAULTS.values()) | {LISTENS}
    assert set(BY_ID) == planted


def test_a_rule_stands_after_those_that_it_needs() -> None:
    places = {rule.id: place for place, rule in enumerate(RULES)}
    early = [rule.id for rule in RULES if any(places[needed] >= places[rule.id] for needed in rule.needs)]
    assert early == []


def test_where_nothing_listens_only_that_is_reported(material: Material) -> None:
    findings = checked(free_port(), material, {SINGLE})
    assert ids_of_broken(findings) == [LISTENS]
    assert not [finding for finding in findings if finding.judgement is RuleOutcome.KEPT]
