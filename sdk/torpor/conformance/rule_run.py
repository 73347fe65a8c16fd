"""Runs rules in their order against one container, and keeps what was found."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from torpor.conformance.container import CheckedContainer
from torpor.conformance.container_client import NoContainerAnswer
from torpor.conformance.judging import RuleBroken, RuleOutcome, RuleSkipped
from torpor.conformance.rule import Level, Rule

KEPT_NO_MORE = (RuleOutcome.BROKEN, RuleOutcome.SKIPPED)


@dataclass(frozen=True)
class Finding:
    """What is known of one rule. `reason` is empty if it is kept."""

    rule: Rule
    judgement: RuleOutcome
    reason: str = ""
    seen: str = ""
    took_s: float = 0.0
    cause: str = ""
    """Of a rule that was not judged because of another: why, such as `listens is broken`."""

    @property
    def is_broken_must(self) -> bool:
        return self.judgement is RuleOutcome.BROKEN and self.rule.level is Level.MUST


def run(
    rules: Sequence[Rule], container: CheckedContainer, heard: Callable[[Finding], None] = lambda finding: None
) -> list[Finding]:
    """A finding for each rule, in the rules' order. `heard` gets each as soon as it is there."""
    found: dict[str, Finding] = {}
    try:
        for rule in rules:
            found[rule.id] = judged(rule, container, found.values())
            heard(found[rule.id])
    finally:
        container.close()
    return list(found.values())


def judged(rule: Rule, container: CheckedContainer, before: Iterable[Finding]) -> Finding:
    """The finding for one rule, given those for the rules before it."""
    if not rule.applies_to(container):
        return Finding(rule, RuleOutcome.NOT_APPLICABLE)
    for finding in before:
        if finding.rule.id in rule.needs and finding.judgement in KEPT_NO_MORE:
            cause = finding.cause or f"{finding.rule.id} is {finding.judgement.value}"
            return Finding(rule, RuleOutcome.SKIPPED, cause, cause=cause)
    start_s = time.monotonic()
    try:
        rule.check(container)
    except RuleSkipped as error:
        return Finding(rule, RuleOutcome.SKIPPED, str(error), took_s=time.monotonic() - start_s)
    except RuleBroken as error:
        return Finding(rule, RuleOutcome.BROKEN, error.reason, error.seen, time.monotonic() - start_s)
    except NoContainerAnswer as error:
        return Finding(rule, RuleOutcome.BROKEN, str(error), took_s=time.monotonic() - start_s)
    return Finding(rule, RuleOutcome.KEPT, took_s=time.monotonic() - start_s)
