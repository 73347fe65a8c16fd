"""`torpor replay`: sends a trace to a live endpoint at the trace's own times, and shows the latencies."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from torpor.cli.arguments import existing_file
from torpor.cli.asked_endpoint import EndpointName, Url, connected, known, only
from torpor.cli.commands.studies import choices
from torpor.cli.commands.studies.json_outputs import replay_output
from torpor.cli.console import AsJson, console, plain_table, print_json
from torpor.cli.exit_codes import ExitCode, UsageRefused
from torpor.errors import TorporError
from torpor.extras import require
from torpor_endpoint.core.pages.plain_figures import counted, milliseconds

if TYPE_CHECKING:
    from torpor.replay.paced_sending import Body, ReplayPace, ReplayTally
    from torpor.replay.replay_result import Replayed

CONTENT_TYPES: Mapping[str, str] = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".jsonl": "application/jsonlines",
    ".libsvm": "text/libsvm",
    ".npy": "application/x-npy",
}
"""The media type by the suffix of the body's file."""
ARTIFACT = ".tar.gz"
SHOWN_MODELS = 5
LATE_S = 0.05
"""If requests are sent later than this at p99, the traffic was not the trace's own."""


def replay(
    trace: choices.Trace,
    endpoint: EndpointName = None,
    speed: Annotated[float, typer.Option(help="How many times as fast as the trace.")] = 1.0,
    limit: Annotated[int | None, typer.Option(help="Send only this many requests, the first ones.", min=1)] = None,
    body: Annotated[Path | None, typer.Option(help="The body of every request.", metavar="FILE")] = None,
    bodies: Annotated[
        Path | None, typer.Option(help="A folder with a body for each model, as City.csv.", metavar="DIR")
    ] = None,
    content_type: Annotated[str | None, typer.Option(help="The bodies' media type; else by their suffix.")] = None,
    in_flight: Annotated[int, typer.Option(help="At most this many requests at once.", min=1)] = 64,
    out: Annotated[
        Path | None, typer.Option(help="Write a row for each request to this CSV file.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Send a trace to an endpoint at the trace's own times, and show how long the requests took."""
    require("torpor replay", "simulator")
    from torpor.replay.paced_sending import ReplayPace
    from torpor.replay.paced_sending import replay as send
    from torpor.replay.target import Target
    from torpor.workloads import Extent, First, named

    choices.writable_file("--out", out)
    choices.positive("--speed", speed)
    connection = connected(url)
    with known(connection, endpoint):
        target = Target.found(connection, only(connection, endpoint))
    sent = named(trace) if limit is None else First(named(trace), limit)
    extent, pace = Extent.of(sent), ReplayPace(speed, in_flight)
    bodies_of = read_body(body, bodies, content_type, extent.names)
    with watching(extent.requests) as watch:
        replayed = send(sent, target, bodies_of, pace, watch)
    if as_json:
        print_json(replay_output(replayed, target.endpoint))
    else:
        show(replayed, target.endpoint, pace)
    if out is not None:
        replayed.write(out)
    if replayed.interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if replayed.failed and replayed.failed == len(replayed):
        raise typer.Exit(ExitCode.FAILED)


# -- what is sent --------------------------------------------------------------------------------------------------
def read_body(body: Path | None, bodies: Path | None, content_type: str | None, models: Sequence[str]) -> "Body":
    """The bodies of `--body` or `--bodies`. Raises TorporError, which says what is missing; OSError."""
    if body is not None and bodies is None:
        existing_file("--body", body)
        one = (typed(body, content_type), body.read_bytes())
        return lambda model, request_bytes: one
    if bodies is None or body is not None:
        raise UsageRefused("say what to send: --body FILE for all models, or --bodies DIR with a file for each")
    if not bodies.is_dir():
        raise TorporError(f"{bodies} is not a folder: --bodies is a folder with a file for each model")
    found = sorted(path for path in bodies.rglob("*.*") if path.is_file())
    files = {path.relative_to(bodies).with_suffix("").as_posix(): path for path in found}
    own = {model: path for model in models if (path := files.get(model) or files.get(model.removesuffix(ARTIFACT)))}
    lacking = [model for model in models if model not in own]
    if lacking:
        raise TorporError(missing(bodies, lacking))
    each = {model: (typed(path, content_type), path.read_bytes()) for model, path in own.items()}
    return lambda model, request_bytes: each[model]


def typed(path: Path, content_type: str | None) -> str:
    """The body's media type. Raises UsageRefused if neither the option nor the suffix says it."""
    found = content_type or CONTENT_TYPES.get(path.suffix)
    if found is None:
        raise UsageRefused(f"{path}: give its type with --content-type, or by its suffix: {', '.join(CONTENT_TYPES)}")
    return found


def missing(bodies: Path, models: Sequence[str]) -> str:
    more = f", and for {counted(len(models) - SHOWN_MODELS, 'more model')}" if len(models) > SHOWN_MODELS else ""
    names = ", ".join(f"{model.removesuffix(ARTIFACT)}.csv" for model in models[:SHOWN_MODELS])
    return f"{bodies} has no {names}{more} (other suffixes: {', '.join(CONTENT_TYPES)})"


# -- what is shown -------------------------------------------------------------------------------------------------
@contextmanager
def watching(requests: int) -> Iterator[Callable[["ReplayTally"], None]]:
    """A progress bar on standard error, if that is a terminal."""
    printer = Console(stderr=True, highlight=False)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[doing]}"), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=printer, disable=not printer.is_terminal) as progress:
        task = progress.add_task("", total=requests, doing="")
        yield lambda tally: progress.update(task, completed=tally.done, doing=doing(tally))


def doing(tally: "ReplayTally") -> str:
    per_s = tally.done / tally.elapsed_s if tally.elapsed_s else 0.0
    return f"{per_s:,.0f}/s · {tally.sent - tally.done:,} in flight · {tally.cold:,} cold · {tally.failed:,} failed"


def show(replayed: "Replayed", endpoint: str, pace: "ReplayPace") -> None:
    printer = console()
    printer.print(outcomes(replayed, endpoint))
    for outcome in replayed.counts:
        if outcome in replayed.messages:
            printer.print(f"first {outcome}: {replayed.messages[outcome]}", soft_wrap=True)
    printer.print(f"\n{lateness(replayed)}")
    if replayed.late_s(0.99) > LATE_S:
        printer.print(advice(replayed, pace), style="yellow")
    if replayed.interrupted:
        left = f"; {counted(replayed.unanswered, 'answer')} not waited for" if replayed.unanswered else ""
        printer.print(f"interrupted{left}", style="yellow")


def outcomes(replayed: "Replayed", endpoint: str) -> Table:
    """A row for each outcome of requests, the most frequent first."""
    shown = plain_table(f"{endpoint} · {counted(len(replayed), 'request')} in {replayed.wall_s:,.1f} s")
    shown.add_column("answer")
    for name in ("requests", "share", "cold", "p50", "p95", "p99"):
        shown.add_column(name, justify="right", no_wrap=True)
    for outcome, requests in replayed.counts.items():
        times = (replayed.latency_s(share, outcome) for share in (0.5, 0.95, 0.99))
        cells = (f"{requests:,}", percent(requests / len(replayed)), percent(replayed.cold_share(outcome)))
        shown.add_row(outcome, *cells, *map(milliseconds, times))
    return shown


def lateness(replayed: "Replayed") -> str:
    """One line: failures, cold starts, and how late requests were sent."""
    if not len(replayed):
        return "nothing was answered"
    late = f"{milliseconds(replayed.late_s(0.5))} at p50, {milliseconds(replayed.late_s(0.99))} at p99"
    failed, cold = f"{replayed.failed:,} failed", f"{percent(replayed.cold_share()) or 'unknown'} cold"
    return f"{failed} · {cold} · at most {replayed.in_flight_most:,} in flight · sent late by {late}"


def advice(replayed: "Replayed", pace: "ReplayPace") -> str:
    bound = replayed.in_flight_most >= pace.in_flight_max
    why = "all requests of --in-flight were waiting for answers" if bound else "this machine could not send faster"
    do = "raise --in-flight or lower --speed" if bound else "lower --speed, or send from an idle machine"
    return f"Requests were sent late, since {why}: these are not the times of the trace's traffic. To avoid it, {do}."


def percent(share: float) -> str:
    return "" if isnan(share) else f"{share:.1%}"
