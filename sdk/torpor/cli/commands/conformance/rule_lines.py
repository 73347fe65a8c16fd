"""Shows what is found: a line for each rule as it is judged, and what to mend first."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from torpor.cli.console import console, plain_table
from torpor.conformance.container import CheckedContainer, UseCase
from torpor.conformance.findings_report import ConformanceReport, line, summary
from torpor.conformance.judging import RuleOutcome
from torpor.conformance.rule import Level, Rule
from torpor.conformance.rule_run import Finding, run


def checked(
    rules: Sequence[Rule], container: CheckedContainer, name: str, printer: Console | None
) -> ConformanceReport:
    """Runs the rules, and prints each finding as it comes."""
    uses = [use.value for use in UseCase if use in container.uses]
    group = ""

    def show(finding: Finding) -> None:
        nonlocal group
        if printer is None or finding.judgement is RuleOutcome.NOT_APPLICABLE:
            return
        if finding.rule.group != group:
            group = finding.rule.group
            printer.print(f"\n{group.replace('_', ' ')}", style="bold")
        printer.print(Text(line(finding), style(finding)), soft_wrap=True)

    if printer is not None:
        printer.print(f"{name} · {', '.join(uses)}", style="bold", soft_wrap=True)
    report = ConformanceReport(name, uses, run(rules, container, show))
    if printer is not None:
        printer.print()
        for row in summary(report):
            printer.print(row, soft_wrap=True)
    return report


def style(finding: Finding) -> str:
    if finding.judgement is RuleOutcome.BROKEN:
        return "red" if finding.rule.level is Level.MUST else "yellow"
    return "dim" if finding.judgement is RuleOutcome.SKIPPED else ""


def show_rules(rules: Sequence[Rule]) -> None:
    shown = plain_table("", "rule", "level", "for", "what the source says")
    for rule in rules:
        uses = ", ".join(use.value for use in UseCase if use in rule.uses)
        shown.add_row(rule.id, rule.level.value, uses, rule.says)
    console().print(shown)
