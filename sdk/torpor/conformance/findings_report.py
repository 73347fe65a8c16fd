"""A run's findings as a report: its lines for a person, its JSON, its JUnit file, and what to mend first."""

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from torpor.conformance.judging import RuleOutcome
from torpor.conformance.rule import Level, Rule
from torpor.conformance.rule_run import Finding

WORDS = {
    RuleOutcome.KEPT: "ok",
    RuleOutcome.BROKEN: "BROKEN",
    RuleOutcome.SKIPPED: "skipped",
    RuleOutcome.NOT_APPLICABLE: "n/a",
}
ID_WIDTH = 27
"""The longest rule id, and a space."""


@dataclass(frozen=True)
class ConformanceReport:
    """All findings of one run, in the rules' order. `container` is a URL or a command, for a person to read."""

    container: str
    uses: Sequence[str]
    findings: Sequence[Finding]

    @property
    def broken(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.judgement is RuleOutcome.BROKEN]

    @property
    def is_conformant(self) -> bool:
        """Whether no rule is broken that a container must keep."""
        return not any(finding.is_broken_must for finding in self.findings)

    @property
    def first_to_mend(self) -> Finding | None:
        """The first broken rule of the highest level: rules stand in the order in which SageMaker comes to need
        them."""
        return min(self.broken, key=lambda finding: list(Level).index(finding.rule.level), default=None)


def line(finding: Finding) -> str:
    """One line: the judgement, the level, the rule, and the reason if it is not kept."""
    words = f"{WORDS[finding.judgement]:8}{finding.rule.level.value:7}{finding.rule.id:{ID_WIDTH}}"
    return f"  {words}{finding.reason}".rstrip()


def summary(report: ConformanceReport) -> list[str]:
    """The counts, and what to mend first with the sentence that asks for it."""
    counts = Counter(finding.judgement for finding in report.findings)
    broken = Counter(finding.rule.level for finding in report.broken)
    levels = ", ".join(f"{broken[level]} {level.value}" for level in Level if broken[level])
    parts = [
        f"{counts[judgement]} {judgement.value}"
        + (f" ({levels})" if judgement is RuleOutcome.BROKEN and levels else "")
        for judgement in RuleOutcome
        if counts[judgement]
    ]
    first = report.first_to_mend
    return [" · ".join(parts), *([] if first is None else mending(first))]


def mending(finding: Finding) -> list[str]:
    """What is wrong, what was seen, how to mend it, and the sentence that asks for it."""
    rule = finding.rule
    where = f"{rule.source.label}, {rule.source.url}" if rule.source.url else rule.source.label
    seen = [f"  seen: {row}" for row in finding.seen.splitlines()]
    return [f"Mend first: {rule.id}: {finding.reason}", *seen, f"  {rule.mend}", f"  Why: {rule.says} ({where})"]


def as_json(report: ConformanceReport) -> str:
    """The whole report as one JSON object."""
    first = report.first_to_mend
    document = {
        "container": report.container,
        "uses": list(report.uses),
        "conformant": report.is_conformant,
        "mend_first": first.rule.id if first else None,
        "rules": [
            {
                **described(finding.rule),
                "judgement": finding.judgement.value,
                "reason": finding.reason,
                "seen": finding.seen,
                "took_s": round(finding.took_s, 3),
            }
            for finding in report.findings
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def described(rule: Rule) -> dict[str, object]:
    """A rule as JSON values."""
    return {
        "id": rule.id,
        "group": rule.group,
        "level": rule.level.value,
        "uses": sorted(use.value for use in rule.uses),
        "says": rule.says,
        "source": rule.source.label,
        "url": rule.source.url,
        "mend": rule.mend,
    }


def rules_as_json(rules: Collection[Rule]) -> str:
    return json.dumps([described(rule) for rule in rules], indent=2, ensure_ascii=False)


def as_junit(report: ConformanceReport) -> bytes:
    """JUnit's XML. A broken `must` is a failure. A broken `should` or `may` is a skipped test with its reason, so that
    it is seen and stops no pipeline; so is a rule that was not judged."""
    cases = [(finding, ElementTree.Element("testcase", _attributes(finding))) for finding in report.findings]
    for finding, case in cases:
        if finding.is_broken_must:
            failure = ElementTree.SubElement(case, "failure", message=finding.reason)
            failure.text = "\n".join(mending(finding)[1:])
        elif finding.judgement is not RuleOutcome.KEPT:
            reason = f"{finding.judgement.value} ({finding.rule.level.value}): {finding.reason}".rstrip(": ")
            ElementTree.SubElement(case, "skipped", message=reason)
    failures = sum(finding.is_broken_must for finding in report.findings)
    suite = ElementTree.Element(
        "testsuite",
        name="torpor conformance",
        tests=str(len(cases)),
        failures=str(failures),
        errors="0",
        skipped=str(sum(case.find("skipped") is not None for _, case in cases)),
        time=f"{sum(finding.took_s for finding in report.findings):.3f}",
    )
    suite.extend(case for _, case in cases)
    whole: bytes = ElementTree.tostring(suite, "utf-8", xml_declaration=True)
    return whole


def _attributes(finding: Finding) -> dict[str, str]:
    group = f"conformance.{finding.rule.group}"
    return {"classname": group, "name": finding.rule.id, "time": f"{finding.took_s:.3f}"}
