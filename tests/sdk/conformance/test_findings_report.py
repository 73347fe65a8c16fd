"""Reports: what counts, what is to be mended first, and the formats."""

import json
from xml.etree import ElementTree

from torpor.conformance.findings_report import ID_WIDTH, ConformanceReport, as_json, as_junit, line, summary
from torpor.conformance.judging import RuleOutcome
from torpor.conformance.rule_run import Finding
from torpor.conformance.rules import BY_ID, RULES

KEPT = Finding(BY_ID["ping-200"], RuleOutcome.KEPT, took_s=0.25)
SHOULD = Finding(BY_ID["keep-alive"], RuleOutcome.BROKEN, "it hung up", "200 text/csv 1")
MUST = Finding(BY_ID["invoke"], RuleOutcome.BROKEN, "it answered 500", "500 text/plain oh <no>")
LATER_MUST = Finding(BY_ID["large-body"], RuleOutcome.BROKEN, "it answered 413")
SKIPPED = Finding(BY_ID["load-507"], RuleOutcome.SKIPPED, "give a model")
ABSENT = Finding(BY_ID["stops"], RuleOutcome.NOT_APPLICABLE)


def report(*findings: Finding) -> ConformanceReport:
    return ConformanceReport("http://c:8080", ["single"], findings)


def test_only_a_broken_must_breaks_the_contract() -> None:
    assert report(KEPT, SHOULD, SKIPPED, ABSENT).is_conformant
    assert not report(KEPT, MUST).is_conformant


def test_the_first_broken_must_is_mended_before_any_should() -> None:
    assert report(SHOULD, MUST, LATER_MUST).first_to_mend == MUST
    assert report(KEPT, SHOULD).first_to_mend == SHOULD
    assert report(KEPT).first_to_mend is None


def test_the_summary_counts_and_says_what_to_do_and_why() -> None:
    counts, first, seen, mend, says = summary(report(KEPT, SHOULD, MUST, SKIPPED, ABSENT))
    assert counts == "1 kept · 2 broken (1 must, 1 should) · 1 skipped · 1 not applicable"
    assert first == "Mend first: invoke: it answered 500"
    assert seen == "  seen: 500 text/plain oh <no>"
    assert mend.strip() == MUST.rule.mend
    assert MUST.rule.says in says
    assert MUST.rule.source.url in says


def test_a_line_has_judgement_level_rule_and_reason() -> None:
    assert line(MUST).split(maxsplit=3) == ["BROKEN", "must", "invoke", "it answered 500"]
    assert line(KEPT).split() == ["ok", "must", "ping-200"]


def test_the_id_of_each_rule_fits_its_column() -> None:
    assert max(len(rule.id) for rule in RULES) < ID_WIDTH


def test_json_has_every_rule_and_the_outcome() -> None:
    document = json.loads(as_json(report(KEPT, MUST)))
    assert (document["conformant"], document["mend_first"], document["uses"]) == (False, "invoke", ["single"])
    assert [(rule["id"], rule["judgement"]) for rule in document["rules"]] == [
        ("ping-200", "kept"),
        ("invoke", "broken"),
    ]


def test_junit_fails_for_a_broken_must_alone() -> None:
    suite = ElementTree.fromstring(as_junit(report(KEPT, SHOULD, MUST, SKIPPED, ABSENT)))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "1", "3")
    outcomes = {case.get("name"): [child.tag for child in case] for case in suite}
    assert outcomes["ping-200"] == []
    assert outcomes["invoke"] == ["failure"]
    assert outcomes["keep-alive"] == outcomes["load-507"] == outcomes["stops"] == ["skipped"]
    [skipped] = suite.findall("testcase[@name='keep-alive']/skipped")
    assert skipped.get("message") == "broken (should): it hung up"
