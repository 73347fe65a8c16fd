"""The faces keep every rule of their protocols that `torpor conformance` checks, as any server of these must."""

from urllib.parse import urlsplit

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from torpor.conformance.container import CheckedContainer, Material, UseCase
from torpor.conformance.container_client import ContainerClient
from torpor.conformance.judging import RuleOutcome
from torpor.conformance.limits import ContractLimits
from torpor.conformance.protocols import PROTOCOL_RULES
from torpor.conformance.rule_run import run


@pytest.mark.parametrize("protocol", [UseCase.V2, UseCase.TFS])
def test_a_face_keeps_every_rule_of_its_protocol(live: LiveEndpoint, faced: str, protocol: UseCase) -> None:
    server = urlsplit(live.url)
    material = Material(served="good", headers={"X-Torpor-Endpoint": faced})
    client = ContainerClient(server.hostname or "", server.port or 0)
    findings = run(
        PROTOCOL_RULES, CheckedContainer(client, frozenset({protocol}), material, ContractLimits().scaled(2))
    )
    judged = [one for one in findings if one.judgement is not RuleOutcome.NOT_APPLICABLE]
    assert [(one.rule.id, one.reason, one.seen) for one in judged if one.judgement is not RuleOutcome.KEPT] == []
