"""How rules are run: what they need, what cannot be judged, and what is left loaded."""

from tests.sdk.helpers.broken_container import MULTI, PATIENT, SINGLE, broken
from torpor.conformance.container import CheckedContainer, Material
from torpor.conformance.container_client import ContainerClient
from torpor.conformance.judging import RuleOutcome
from torpor.conformance.rule_run import Finding, run
from torpor.conformance.rules import BY_ID
from torpor.conformance.sample_inputs import DEFAULT_SAMPLE, Sample


def found(container: CheckedContainer, *ids: str) -> dict[str, Finding]:
    return {finding.rule.id: finding for finding in run([BY_ID[id] for id in ids], container)}


def test_what_a_broken_rule_keeps_from_being_judged_names_that_rule(material: Material) -> None:
    with broken("ping is 503") as port:
        container = CheckedContainer(ContainerClient("127.0.0.1", port), frozenset({SINGLE}), material, PATIENT)
        findings = found(container, "ping-200", "ping-in-time", "connection-close")
    assert findings["ping-200"].judgement is RuleOutcome.BROKEN
    for id in ("ping-in-time", "connection-close"):
        assert (findings[id].judgement, findings[id].reason) == (RuleOutcome.SKIPPED, "ping-200 is broken")


def test_a_rule_that_is_asked_for_alone_is_judged_without_what_it_needs(material: Material) -> None:
    with broken("ping is 503") as port:
        container = CheckedContainer(ContainerClient("127.0.0.1", port), frozenset({SINGLE}), material, PATIENT)
        assert found(container, "connection-close")["connection-close"].judgement is RuleOutcome.KEPT


def test_without_material_rules_are_skipped_and_say_what_is_missing() -> None:
    with broken() as port:
        container = CheckedContainer(ContainerClient("127.0.0.1", port), frozenset({MULTI}), Material(), PATIENT)
        findings = found(container, "load-model", "load-507", "ping-while-invoking", "get-unknown-404")
    assert findings["load-model"].reason == "give a model with --model NAME=PATH"
    assert findings["load-507"].reason == "load-model is skipped"
    assert findings["get-unknown-404"].judgement is RuleOutcome.KEPT


def test_a_default_body_that_is_refused_condemns_no_container() -> None:
    with broken() as port:
        default = Sample(DEFAULT_SAMPLE.content_type, b"words\n", is_default=True)
        client = ContainerClient("127.0.0.1", port)
        finding = found(CheckedContainer(client, frozenset({SINGLE}), Material(default), PATIENT), "invoke")["invoke"]
    assert finding.judgement is RuleOutcome.SKIPPED
    assert "--body FILE" in finding.reason


def test_no_model_is_left_loaded(material: Material) -> None:
    with broken() as port:
        client = ContainerClient("127.0.0.1", port)
        container = CheckedContainer(client, frozenset({MULTI}), material, PATIENT)
        run(list(BY_ID.values()), container)
        assert b'"models": []' in client.send("GET", "/models", within_s=60.0).body
