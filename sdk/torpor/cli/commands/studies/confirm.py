"""`torpor confirm`: sends a plan's own trace to a live endpoint of its configuration; shows forecast beside fact."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from torpor.cli.arguments import existing_file
from torpor.cli.asked_endpoint import Url
from torpor.cli.commands.studies import choices
from torpor.cli.commands.studies.json_outputs import confirm_output
from torpor.cli.commands.studies.replay import read_body, watching
from torpor.cli.commands.studies.simulate import span
from torpor.cli.console import AsJson, console, plain_table, print_json
from torpor.cli.exit_codes import ExitCode, UsageRefused
from torpor.extras import require
from torpor.prices.dollars import dollars
from torpor_endpoint.core.pages.plain_figures import counted, milliseconds

if TYPE_CHECKING:
    from torpor.confirming.core.forecast_beside_fact import ConfirmedFigure
    from torpor.confirming.plan_confirmation import Confirmation

PLAN = "The plan: the file of `torpor plan --out`."
MODELS = "A folder with the artifacts that the trace names: an endpoint is started for them, and ends again."
ENDPOINT = "An endpoint that runs, of the plan's configuration and without other traffic, in place of --models."
CONTAINER = "The artifact of a pipeline's container beside the one with the models; again for each further one."
WITHIN = "Send for at most this time, as 10m: of a longer trace, its busiest part."
REQUESTS = "Send at most this many requests."
TITLES = {"p50_s": "p50", "p99_s": "p99", "usd": "bill", "usd by live times": "bill by live times"}
CODES = {
    "the same": ExitCode.DONE, "reversed": ExitCode.FAILED, "undecided": ExitCode.UNDECIDED,
    "unknown": ExitCode.TOO_BUSY,
}  # fmt: skip
"""The exit code by the verdict."""
SAID = {
    "the same": "The verdict is the same.", "reversed": "The verdict is reversed.",
    "undecided": "The verdict is undecided.",
}  # fmt: skip
"""The end of the last line by the verdict, where the machine was not too busy."""
AT_BOUND = " The forecast is at the goal's bound: with times a tenth longer or shorter it has the other verdict."


def confirm(
    plan: Annotated[Path, typer.Argument(help=PLAN, metavar="PLAN")],
    models: Annotated[Path | None, typer.Option(help=MODELS, metavar="DIR")] = None,
    endpoint: Annotated[str | None, typer.Option(help=ENDPOINT, metavar="NAME")] = None,
    container: Annotated[list[str] | None, typer.Option(help=CONTAINER, metavar="NAME=FILE")] = None,
    body: Annotated[Path | None, typer.Option(help="The body of every request.", metavar="FILE")] = None,
    bodies: Annotated[
        Path | None, typer.Option(help="A folder with a body for each model, as City.csv.", metavar="DIR")
    ] = None,
    content_type: Annotated[str | None, typer.Option(help="The bodies' media type; else by their suffix.")] = None,
    speed: Annotated[float, typer.Option(help="How many times as fast as the trace. The forecast is, too.")] = 1.0,
    within: Annotated[str, typer.Option(help=WITHIN)] = "10m",
    requests: Annotated[int, typer.Option(help=REQUESTS, min=1)] = 20_000,
    in_flight: Annotated[int, typer.Option(help="At most this many requests at once.", min=1)] = 64,
    prices: choices.PricesFile = None,
    region: choices.Region = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Send a plan's own trace to a live endpoint of its configuration, and compare the plan's forecast with the fact.

    It ends with 0 if the endpoint meets the goal as forecast, with 1 if not, with 6 if not and the forecast was at the
    goal's bound, and with 5 if the machine was too busy to judge.
    """
    require("torpor confirm", "simulator")
    from torpor.confirming.plan_confirmation import confirm as confirmed
    from torpor.simulator.planning.recorded_plan import confirmable

    choices.positive("--speed", speed)
    if (models is None) == (endpoint is None):
        raise UsageRefused("say which models: --models DIR for an endpoint of its own, or --endpoint NAME")
    existing_file("PLAN", plan)
    wanted = confirmable(plan)
    for _ in wanted.inputs.trace.chunks():
        pass  # a file's reader knows the models when it has read them
    of_each = read_body(body, bodies, content_type, wanted.inputs.trace.names)
    with watching(requests) as watch:
        done = confirmed(
            wanted,
            body=of_each,
            models=models,
            endpoint=endpoint,
            url=url,
            containers=dict(_named(one) for one in container or ()),
            speed=speed,
            within_s=choices.within_s(within),
            requests_max=requests,
            in_flight_max=in_flight,
            prices=choices.prices_from(prices, region),
            watch=watch,
        )
    if as_json:
        print_json(confirm_output(done))
    else:
        show(done)
    if done.replayed.interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if code := CODES[done.verdict]:
        raise typer.Exit(code)


def _named(container: str) -> tuple[str, Path]:
    name, is_named, file = container.partition("=")
    if not (name and is_named and file):
        raise UsageRefused(f"--container is NAME=FILE, not {container!r}")
    return name, Path(file)


def show(done: "Confirmation") -> None:
    printer = console()
    printer.print(beside(done))
    printer.print(f"\n{sent(done)}", style="dim")
    for cause in done.causes:
        printer.print(f"cause: {cause}")
    printer.print(f"\n{answer(done)}", style="bold")


def beside(done: "Confirmation") -> Table:
    """A row for each figure, forecast beside live."""
    shown = plain_table(f"{done.scenario.name} · {done.compared.goal}")
    shown.add_column("figure")
    for name in ("forecast", "live", "off", "aim"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("")
    for one in done.figures:
        agrees = {True: "", False: "differs", None: "not judged"}[one.agrees]
        shown.add_row(
            TITLES.get(one.figure, one.figure), value(one, one.forecast), value(one, one.live), *off(one), agrees
        )
    return shown


def value(one: "ConfirmedFigure", figure: float | None) -> str:
    if figure is None:
        return "-"
    if one.figure.endswith("_s"):
        return milliseconds(figure)
    if one.figure.startswith("usd"):
        return dollars(figure)
    return f"{figure:.2%}" if one.figure in ("hit ratio", "late") else f"{figure:,.0f}"


def off(one: "ConfirmedFigure") -> tuple[str, str]:
    unit = " points" if one.figure in ("hit ratio", "late") else " %"
    return "-" if one.off is None else f"{one.off:+.1f}{unit}", f"{one.aim:g}{unit}"


def sent(done: "Confirmation") -> str:
    """Which requests were sent, and how."""
    part, strain = done.part, done.compared.strain
    which = (
        "the whole trace"
        if part.whole
        else f"the busiest part of {counted(part.of, 'request')}, {span(part.since_s)} after the first"
    )
    quiet = f", {span(part.quiet_s)} of quiet skipped" if part.quiet_s else ""
    times = "" if part.speed == 1 else f", {part.speed:g} times as fast"
    late = f"sent late by {milliseconds(strain.sent_late_s)} at p99"
    wait = f"some process waited for a processor {strain.waiting_share:.0%} of the time"
    return f"{counted(part.requests, 'request')} in {span(part.lasts_s)}: {which}{quiet}{times} · {late} · {wait}"


def answer(done: "Confirmation") -> str:
    compared = done.compared
    forecast = "meets" if compared.forecast_meets else "does not meet"
    counts = "What does not depend on its speed is as forecast." if compared.counts_agree else "Counts differ, too."
    if compared.live_meets is None:
        return (
            f"The forecast {forecast} the goal. This machine was too busy to say whether the endpoint does: try again"
            f" when it is idle, or with a lower --speed. {counts}"
        )
    live = "meets" if compared.live_meets else "does not meet"
    said = SAID[compared.verdict] + (AT_BOUND if compared.at_bound else "")
    return f"The forecast {forecast} the goal, and the live endpoint {live} it. {said}"
