"""`torpor transform`: lists the batch transform jobs, shows one, stops it, and watches it until it has ended."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

from torpor.cli.asked_endpoint import Url, connected
from torpor.cli.console import AsJson, console, plain_table, print_json
from torpor.cli.exit_codes import ExitCode
from torpor.cli.json_records import TransformOutput
from torpor.pages.transform_jobs import ShownJob, stop_transform_job, transform_job, transform_jobs
from torpor_endpoint.core.pages.plain_figures import counted
from torpor_endpoint.core.pages.transform_jobs import JobProgress

ENDED = frozenset({"Completed", "Failed", "Stopped"})
PERIOD_S = 0.5
BAR_WIDTH = 14
LINE_PERIOD_S = 10.0
"""Without a terminal there is a line so often."""


app = typer.Typer(help="List, show, stop and watch batch transform jobs.", no_args_is_help=True)

JobName = Annotated[str, typer.Argument(help="The job's name.", metavar="JOB")]


@app.command()
def ls(as_json: AsJson = False, url: Url = None) -> None:
    """List the batch transform jobs, the newest last."""
    jobs = transform_jobs(connected(url))
    if as_json:
        print_json(TransformOutput(tuple(jobs)))
    else:
        console().print(table(jobs) if jobs else "no transform job")


@app.command()
def show(job: JobName, as_json: AsJson = False, url: Url = None) -> None:
    """Show how far a job is, how fast, and how long it takes yet."""
    _print(transform_job(connected(url), job), as_json)


@app.command()
def stop(job: JobName, url: Url = None) -> None:
    """Stop a job. The objects that are done keep their results."""
    connection = connected(url)
    stop_transform_job(connection, job)
    _print(transform_job(connection, job), as_json=False)


@app.command()
def watch(job: JobName, as_json: AsJson = False, url: Url = None) -> None:
    """Show a job until it has ended: its objects, its records a second, the time left. It fails unless the job is
    Completed."""
    ended = watched(partial(transform_job, connected(url), job))
    _print(ended, as_json)
    if ended.status != "Completed":
        raise typer.Exit(ExitCode.FAILED)


def _print(job: ShownJob, as_json: bool) -> None:
    if as_json:
        print_json(TransformOutput((job,)))
    else:
        typer.echo(line(job))


def table(jobs: list[ShownJob]) -> Table:
    """A row for each job."""
    shown = plain_table("", "job", "status", "created")
    for name in ("objects", "failed", "records", "records/s", "left"):
        shown.add_column(name, justify="right")
    for job in jobs:
        created = datetime.fromtimestamp(job.created_s).strftime("%Y-%m-%d %H:%M")
        shown.add_row(job.name, job.status, created, *_counts(job))
    return shown


def line(job: ShownJob) -> str:
    """`nightly: InProgress, 12 of 500 objects, 12,000 records, 8,500 records/s, 0:00:35 left`"""
    said = [job.status]
    if (progress := job.progress) is not None:
        objects, *speed = _said(progress)
        said += [objects, counted(progress.records, "record"), *speed]
    return f"{job.name}: {', '.join(said)}{f'. {job.failure_reason}' if job.failure_reason else ''}"


def _said(progress: JobProgress) -> list[str]:
    """`12 of 500 objects`, `8,500 records/s`, `0:00:35 left`"""
    failed = f", {progress.failed:,} failed" if progress.failed else ""
    done = f"{progress.done:,} of {counted(progress.objects, 'object')}{failed}"
    said = [done, f"{progress.records_per_s:,.0f} records/s"]
    if not progress.ended and progress.left_s is not None:
        said.append(f"{_duration(progress.left_s)} left")
    return said


def watched(
    read: Callable[[], ShownJob],
    screen: Console | None = None,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> ShownJob:
    """The job, once it has ended: `read` gives its present state.

    Until then there is a bar on standard error, or a line now and then without a terminal.
    """
    if (job := read()).status in ENDED:
        return job
    shown = screen or Console(stderr=True)
    columns = (BarColumn(bar_width=BAR_WIDTH), TaskProgressColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as progress:
        task = progress.add_task("", total=1.0)
        next_line_s = clock() + LINE_PERIOD_S
        while job.status not in ENDED:
            said = [job.status] if job.progress is None else _said(job.progress)
            share = 0.0 if job.progress is None else job.progress.share
            progress.update(task, description=", ".join((job.name, *said)), completed=share, refresh=True)
            if not shown.is_terminal and clock() >= next_line_s:
                shown.print(line(job), soft_wrap=True, markup=False, highlight=False)
                next_line_s += LINE_PERIOD_S
            pause(PERIOD_S)
            job = read()
    return job


def _counts(job: ShownJob) -> tuple[str, ...]:
    one = job.progress
    if one is None:
        return ("", "", "", "", "")
    left = "" if one.ended or one.left_s is None else _duration(one.left_s)
    objects = f"{one.done:,} of {one.objects:,}"
    return objects, f"{one.failed:,}", f"{one.records:,}", f"{one.records_per_s:,.0f}", left


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
