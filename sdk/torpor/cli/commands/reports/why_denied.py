"""`torpor why-denied`: who was denied what, and which policies had a say."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

import typer

from torpor.cli.asked_endpoint import Url, connected
from torpor.cli.console import AsJson, print_json
from torpor.cli.exit_codes import UsageRefused
from torpor.cli.json_records import WhyDeniedOutput
from torpor.errors import TorporError
from torpor.pages import denials
from torpor_account.core.access.explaining.denial import Denial

WIDTH = 11
"""The width of the first column, in characters."""


def why_denied(
    request_id: Annotated[
        str | None,
        typer.Argument(
            help="The id in the refusal: x-amzn-RequestId, or S3's x-amz-request-id; in boto3, RequestId.",
            metavar="[REQUEST-ID]",
        ),
    ] = None,
    last: Annotated[bool, typer.Option("--last", help="Explain the latest denial of all.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Explain why a caller was denied, with `torpor up --auth`. It needs the right torpor:ReadDenials."""
    if (request_id is None) is not last:
        raise UsageRefused("name one REQUEST-ID, or give --last for the latest denial")
    connection = connected(url)
    found = denials.latest(connection) if request_id is None else denials.of_request(connection, request_id)
    if not found:
        kept = "the endpoint keeps no denial" + ("" if last else f" of request {request_id}")
        raise TorporError(f"{kept}: it keeps the latest thousand, and none of a request whose signature is wrong")
    if as_json:
        print_json(WhyDeniedOutput(found[0]))
        return
    for name, text in lines(found[0]):
        typer.echo(f"{name:<{WIDTH}}{text}".rstrip())


def lines(denied: Denial) -> Iterator[tuple[str, str]]:
    """Pairs of a name and a text; a name stands once for the lines below it."""
    moment = datetime.fromtimestamp(denied.at_s, UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
    yield "denied", denied.message
    yield "because", denied.why
    yield "request", f"{denied.request_id or '(without an id)'}, at {moment} UTC"
    yield "caller", denied.caller
    yield "action", denied.action
    yield "resource", denied.resource or "(any: the request does not name it in a way that Torpor reads)"
    policies = [f"{one.policy} ({one.kind}): {one.says}" for one in denied.policies] or ["none: the caller has none"]
    yield from zip(["policies", *[""] * (len(policies) - 1)], policies, strict=True)
    keys = [f"{one.key} = {', '.join(one.values) or '(absent)'}" for one in denied.keys] or ["no policy asked for one"]
    yield from zip(["keys", *[""] * (len(keys) - 1)], keys, strict=True)
