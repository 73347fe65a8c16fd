"""`torpor async`: lists, shows and cancels asynchronous requests."""

import time
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table

from torpor.calling.connection import EndpointConnection
from torpor.cli.asked_endpoint import OneOrAll, Url, connected, known, unknown
from torpor.cli.console import AsJson, console, plain_table, print_json
from torpor.cli.json_records import AsyncOutput
from torpor.errors import EndpointRefused, TorporError
from torpor.pages import async_requests
from torpor_endpoint.core.pages.async_requests import LIMIT, LIMIT_MAX, STATES, AsyncRequestRow
from torpor_endpoint.core.pages.plain_figures import moment

app = typer.Typer(help="List, show and cancel asynchronous requests.", no_args_is_help=True)

InferenceId = Annotated[str, typer.Argument(help="The request's InferenceId.", metavar="ID")]


@app.command()
def ls(
    endpoint: OneOrAll = None,
    state: Annotated[
        str | None, typer.Option(help=f"Only those that are {', '.join(STATES)}.", metavar="STATE")
    ] = None,
    limit: Annotated[int, typer.Option(help="How many to show, the latest ones.", min=1, max=LIMIT_MAX)] = LIMIT,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """List the asynchronous requests of the last day, the newest first."""
    connection = connected(url)
    with known(connection, endpoint):
        found = async_requests.requests(connection, endpoint, state=state, limit=limit)
    if not found and endpoint is not None and (error := unknown(connection, endpoint)) is not None:
        raise error
    if as_json:
        print_json(AsyncOutput(tuple(found)))
    elif not found:
        console().print("no asynchronous request")
    else:
        console().print(table(found, time.time()))


@app.command()
def show(id: InferenceId, as_json: AsJson = False, url: Url = None) -> None:
    """Show where a request is, where its result will be, and why it has none."""
    found = async_requests.requests(connected(url), id=id)
    if as_json:
        print_json(AsyncOutput(tuple(found)))
        return
    console().print("\n\n".join(lines(one, time.time()) for one in found), soft_wrap=True)


@app.command()
def cancel(id: InferenceId, url: Url = None) -> None:
    """Cancel a request that waits. One that an instance has already ends by itself."""
    connection = connected(url)
    cancelled = async_requests.cancel(connection, id)
    for one in cancelled:
        typer.echo(f"{one.inference_id}: {one.state}")
    if not cancelled:
        raise TorporError(f"{id} does not wait any more{_standing(connection, id)}")


def _standing(connection: EndpointConnection, id: str) -> str:
    """`: it is Completed`; empty for a caller who may not read it."""
    try:
        return f": it is {async_requests.requests(connection, id=id)[0].state}"
    except EndpointRefused:
        return ""


def table(found: Sequence[AsyncRequestRow], now_s: float) -> Table:
    """A line for each request."""
    shown = plain_table("", "received", "request", "endpoint", "model", "state")
    shown.add_column("took", justify="right", no_wrap=True)
    shown.add_column("why", overflow="fold")
    for one in found:
        shown.add_row(
            moment(one.received_s, now_s, "%H:%M:%S"),
            one.inference_id,
            one.endpoint,
            one.model or "-",
            one.state,
            took(one, now_s),
            one.reason,
        )
    return shown


def took(one: AsyncRequestRow, now_s: float) -> str:
    """How long the request took, or has taken so far."""
    seconds = max(0.0, (now_s if one.ended_s is None else one.ended_s) - one.received_s)
    return f"{seconds:.1f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def lines(one: AsyncRequestRow, now_s: float) -> str:
    """All that is known of a request, a line for each fact."""
    facts = {
        "request": one.inference_id,
        "endpoint": f"{one.endpoint}/{one.variant}",
        "model": one.model,
        "state": one.state,
        "why": one.reason,
        "received": moment(one.received_s, now_s, "%H:%M:%S"),
        "took": took(one, now_s),
        "expires": "" if one.over else moment(one.expires_s, now_s, "%H:%M:%S"),
        "attempts": str(one.attempts) if one.attempts else "",
        "input": one.input or "in the request",
        "result": one.output,
        "failure": one.failure,
    }
    return "\n".join(f"{name:<9} {value}" for name, value in facts.items() if value)
