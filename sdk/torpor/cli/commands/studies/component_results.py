"""Simulates inference components for `torpor simulate`, and shows the requests of each and its part of the bill."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torpor.cli.commands.studies.component_line import altered, scenario_of
from torpor.cli.exit_codes import UsageRefused
from torpor.cli.progress_bar import bar
from torpor.time_units import HOUR_S
from torpor_endpoint.core.pages import plain_figures
from torpor_endpoint.core.pricing.component_shares import UNRESERVED

if TYPE_CHECKING:
    from torpor.simulator.components.component_ledger import RecordedEndpoint
    from torpor.simulator.components.component_scenario import ComponentScenario
    from torpor.simulator.components.components_result import ComponentsResult
    from torpor.simulator.simulation_inputs import SimulationInputs
    from torpor_endpoint.core.pricing.prices import Prices

SHOWN = 20
"""The most components that are shown. `--json` has the figures of all of them together."""
OTHERS = (
    "{trace} is an endpoint of inference components: {option} does not change it. Change it with --components, as"
    " --components instances=2"
)

STRICTLY_HELD = (
    "--aws-strict leaves these components out: on AWS no request waits for a copy. Give them copies=1, or strict=true"
    " and a scaling, as target=2"
)
STRICTLY_ONE = "--aws-strict leaves models= out: on AWS no component has a multi-model container"


def recorded(trace: str, seed: int) -> "RecordedEndpoint | None":
    """The endpoint of inference components whose ledger the trace is; None for every other trace. Raises BadTrace,
    BadScenario."""
    from torpor.simulator.components.component_ledger import has_components, recorded_endpoint
    from torpor.simulator.fitting.profile_sources import split_name

    path, named = split_name(Path(trace))
    endpoint, _, variant = named.partition("/")
    if variant or not path.name.endswith(".sqlite"):
        return None
    found = has_components(path, endpoint or None)
    return None if found is None else recorded_endpoint(path, found, seed=seed)


def models_of(trace: str, profiles: Path | None, seed: int) -> "SimulationInputs | None":
    """The requests and models of an endpoint of inference components, to plan with; None for every other trace. Raises
    UsageRefused, BadTrace, BadScenario."""
    from torpor.simulator.components.component_ledger import as_models

    found = recorded(trace, seed)
    if found is None or profiles is not None:
        return None
    return as_models(found)


def refuse_others(trace: str, given: dict[str, object]) -> None:
    """Raises UsageRefused for an option that means nothing for the components of a ledger."""
    if found := next((option for option, value in given.items() if value), None):
        raise UsageRefused(OTHERS.format(trace=trace, option=found))


def replayed(found: "RecordedEndpoint", line: str | None) -> "list[ComponentsResult]":
    """The components as they ran, and with what the line changes. Raises UsageRefused, BadScenario."""
    scenarios = [found.scenario] if line is None else [found.scenario, altered(found.scenario, line)]
    return [_played(found.inputs, one) for one in scenarios]


def asked(inputs: "SimulationInputs", line: str | None, *, aws_strict: bool = False) -> "list[ComponentsResult]":
    """The components of the line; none without one. Raises UsageRefused, BadScenario, BadTrace."""
    if line is None:
        return []
    scenario = scenario_of(line, inputs)
    if aws_strict and not scenario.on_aws:
        raise UsageRefused(STRICTLY_HELD if scenario.holds else STRICTLY_ONE)
    return [_played(inputs, scenario)]


def component_rows(one: "ComponentsResult", prices: "Prices") -> list[dict[str, str]]:
    """A row for each component, those with most requests first, and the unreserved rest."""
    shares = {share.component: share for share in one.shares(prices)}
    ordered = sorted(one.components, key=lambda use: (-use.requests, use.component))
    rows = [
        {
            "component": use.component,
            "requests": f"{use.requests:,}",
            "cold": f"{use.cold:,}",
            "failed": f"{use.failed:,}",
            "mean": plain_figures.milliseconds(use.total_s / use.requests) if use.requests else "-",
            "copy-h": f"{use.copy_s / HOUR_S:,.2f}",
            "of the bill": f"{shares[use.component].share:.1%}" if use.component in shares else "-",
        }
        for use in ordered[:SHOWN]
    ]
    rest = shares.get(UNRESERVED)
    blank = dict.fromkeys(rows[0], "") if rows else {}
    if len(ordered) > SHOWN:
        rows.append(blank | {"component": f"and {len(ordered) - SHOWN:,} more"})
    if rest is not None:
        rows.append(blank | {"component": UNRESERVED, "of the bill": f"{rest.share:.1%}"})
    return rows


def component_notes(results: "Sequence[ComponentsResult]") -> list[str]:
    """What to know of the figures, a line for each."""
    lines = []
    for one in results:
        if one.refused:
            refused = plain_figures.counted(one.refused, "request")
            lines.append(f"{one.scenario.name}: {refused} failed without a copy, as on AWS (strict)")
        if one.scenario.holds:
            lines.append(
                f"{one.scenario.name}: requests wait for a copy, which is Torpor's: on AWS they fail (strict=true)"
            )
        if any(setup.models for setup in one.scenario.components):
            lines.append(f"{one.scenario.name}: AWS has no component with a multi-model container, which is Torpor's")
        if one.moves:
            lines.append(
                f"{one.scenario.name}: {plain_figures.counted(one.moves, 'move')} of copies to fewer instances"
            )
        if unplaced := sum(use.unplaced for use in one.components):
            times = plain_figures.counted(unplaced, "time")
            lines.append(f"{one.scenario.name}: {times} a copy that was wanted had no room")
    return lines


# -- inside ------------------------------------------------------------------------------------------------------------
def _played(inputs: "SimulationInputs", scenario: "ComponentScenario") -> "ComponentsResult":
    from torpor.simulator.components.components_run import run_components
    from torpor.simulator.simulation_inputs import requests_of

    with bar("reading the trace") as shown:
        shown.of(requests_of(inputs.trace))
        shown.says(f"simulating {scenario.name}")
        return run_components(replace(inputs, on_progress=shown.done), scenario)
