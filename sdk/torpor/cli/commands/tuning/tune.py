"""`torpor tune`: tunes all settings of a variant together over the simulator, and confirms the best few live."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from torpor.cli.commands.studies import choices, component_results
from torpor.cli.commands.studies.json_outputs import tune_output
from torpor.cli.commands.tuning.chosen_values import SETTINGS, measured_trees, space_of
from torpor.cli.commands.tuning.live_runs import LiveRuns, chosen, ended
from torpor.cli.commands.tuning.tuned_tables import answer, doubts, show
from torpor.cli.console import AsJson, print_json
from torpor.cli.json_records import text
from torpor.cli.progress_bar import bar
from torpor.extras import require

if TYPE_CHECKING:
    from torpor.confirming.tuned_confirmation import TunedConfirmation
    from torpor.simulator.planning.plan_space import Goal
    from torpor.simulator.simulation_inputs import SimulationInputs
    from torpor.simulator.tuning.tune_result import TuneResult

CHOOSE = (
    f"Choose from these values, as threads=none,1,2; again for each of {', '.join(SETTINGS)}. Else from usual ones."
)
EVALUATIONS = "Simulate at most this many choices."
TREES = (
    "Also try this TORPOR_TREES, with the sizes and times of the models under it, as flat=flat.csv: a file as of"
    " --profiles, which then are those of the value in use; again for each."
)
WITHIN = "Search for at most this time, as 10m. A search that it ends may end elsewhere with the same seed."
REQUESTS = "Simulate at most this many requests, from the beginning of the trace."
CONFIRM = (
    "Send the trace to a live endpoint of the best choice, and of the next best, until one meets the SLO; so many."
)
MODELS = "For --confirm: a folder with the artifacts that the trace names."
BODY = "For --confirm: the body of every request."
BODIES = "For --confirm: a folder with a body for each model, as City.csv."
LIVE_WITHIN = "Send to each live endpoint for at most this time: of a longer trace, its busiest part."
LIVE_REQUESTS = "Send at most this many requests to each live endpoint."
WRITE = "Write the configuration to this JSON file: CreateEndpointConfig's members, and the container's Environment."
OUT = "Write what --json prints to this file, for `torpor confirm`."


def tune(
    trace: choices.Trace,
    slo_ms: Annotated[float, typer.Option(help="The time within which requests must be answered.")],
    quantile: Annotated[float, typer.Option(help="The share of the requests that must be.")] = 0.99,
    profiles: choices.Profiles = None,
    choose: Annotated[list[str] | None, typer.Option(help=CHOOSE, metavar="NAME=VALUES")] = None,
    trees: Annotated[list[str] | None, typer.Option(help=TREES, metavar="VALUE=FILE")] = None,
    wake: choices.Wake = None,
    queued: choices.Async = False,
    evaluations: Annotated[int, typer.Option(help=EVALUATIONS, min=1)] = 100,
    within: Annotated[str, typer.Option(help=WITHIN)] = "10m",
    seeds: Annotated[int, typer.Option(help="How many seeds must confirm the best choice.", min=1)] = 3,
    seed: choices.Seed = 0,
    lasts: choices.Lasts = None,
    requests: Annotated[int, typer.Option(help=REQUESTS, min=1)] = 200_000,
    prices: choices.PricesFile = None,
    region: choices.Region = None,
    containers: choices.Containers = None,
    aws_strict: choices.AwsStrict = False,
    confirm: Annotated[int, typer.Option(help=CONFIRM, min=0)] = 0,
    models: Annotated[Path | None, typer.Option(help=MODELS, metavar="DIR")] = None,
    body: Annotated[Path | None, typer.Option(help=BODY, metavar="FILE")] = None,
    bodies: Annotated[Path | None, typer.Option(help=BODIES, metavar="DIR")] = None,
    content_type: Annotated[str | None, typer.Option(help="The bodies' media type; else by their suffix.")] = None,
    live_within: Annotated[str, typer.Option(help=LIVE_WITHIN)] = "2m",
    live_requests: Annotated[int, typer.Option(help=LIVE_REQUESTS, min=1)] = 5_000,
    write: Annotated[Path | None, typer.Option(help=WRITE, metavar="FILE")] = None,
    out: Annotated[Path | None, typer.Option(help=OUT, metavar="FILE")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the cheapest settings that meet the SLO, all together, by an optimiser over the simulator.

    With --confirm, it ends with 1 if no choice that was confirmed meets the SLO live, and with 5 if the machine was too
    busy to say.
    """
    require("torpor tune", "tune")
    choices.writable_file("--write", write)
    choices.writable_file("--out", out)
    from torpor.simulator.planning.plan_space import Goal

    goal = Goal(choices.slo_s(slo_ms), choices.share("--quantile", quantile))
    live = LiveRuns(
        confirm, models, body, bodies, content_type, choices.within_s(live_within, "--live-within"), live_requests
    )
    search_s = choices.within_s(within)
    fixed = {**choices.wake_change(wake), **choices.async_change(queued)}
    of_components = component_results.models_of(trace, profiles, seed)
    inputs = of_components or choices.inputs_of(trace, profiles, seed, lasts, containers, fixed)
    space = space_of(choose or (), inputs.scenario, aws_strict)
    priced = choices.prices_from(prices, region)
    found = searched(
        inputs, goal, space=space, evaluations=evaluations, within_s=search_s, seeds=seeds, seed=seed,
        requests_max=requests, prices=priced, trees=measured_trees(trees or ()),
    )  # fmt: skip
    confirmed = live.of(found, priced)
    _tell(found, confirmed, write, out, as_json)
    if code := ended(found, confirmed):
        raise typer.Exit(code)


def searched(inputs: "SimulationInputs", goal: "Goal", **options: Any) -> "TuneResult":
    """The tuning, with a progress bar. `options` are further arguments of `torpor.tune`."""
    from torpor.simulator.simulation_inputs import requests_of
    from torpor.simulator.tuning.tuned_variant import tune as search

    with bar("reading the trace") as shown:
        of = min(requests_of(inputs.trace), options["requests_max"])

        def says(what: str) -> None:
            shown.begins(what)
            shown.of(of)

        watched = replace(inputs, on_progress=shown.done)
        return search(watched, slo_s=goal.slo_s, quantile=goal.quantile, says=says, **options)


# -- inside ------------------------------------------------------------------------------------------------------------
def _tell(
    found: "TuneResult", confirmed: "Sequence[TunedConfirmation]", write: Path | None, out: Path | None, as_json: bool
) -> None:
    """Write the files and print the answer."""
    best = chosen(found, confirmed)
    output = tune_output(found, answer(found), doubts(found, confirmed), confirmed)
    if write is not None and best is not None:
        write.write_text(text(found.configuration(best)) + "\n", encoding="utf-8")
    if out is not None:
        out.write_text(text(output) + "\n", encoding="utf-8")
    if as_json:
        print_json(output)
    else:
        show(found, best, confirmed)
