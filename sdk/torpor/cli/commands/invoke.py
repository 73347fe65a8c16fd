"""`torpor invoke`: calls an endpoint once, and writes the answer's bytes to standard output."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from torpor.calling.streamed_answer import parts_of
from torpor.calling.target_model import with_target_model
from torpor.cli import completion
from torpor.cli.arguments import existing_file
from torpor.cli.asked_endpoint import EndpointName, Url, invocable, known, only

TargetModel = Annotated[
    str | None,
    typer.Option(
        help="The model's key below the endpoint's prefix.", metavar="MODEL", autocompletion=completion.models
    ),
]


def invoke(
    endpoint: EndpointName = None,
    target_model: TargetModel = None,
    target_container: Annotated[str | None, typer.Option(help="The hostname of a direct endpoint's container.")] = None,
    body: Annotated[str, typer.Option(help="Text, @file, or @- for standard input.")] = "@-",
    content_type: Annotated[str, typer.Option(help="The body's media type.")] = "text/csv",
    accept: Annotated[str | None, typer.Option(help="The media type to ask for.")] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Print the parts of the answer as they come.")] = False,
    timing: Annotated[bool, typer.Option("--timing", help="Print on standard error what the call waited for.")] = False,
    url: Url = None,
) -> None:
    """Call an endpoint, or one model of it, and print the answer."""
    connection = invocable(url)
    members = {
        "EndpointName": only(connection, endpoint),
        "TargetModel": target_model,
        "TargetContainerHostname": target_container,
        "Body": read_body(body),
        "ContentType": content_type,
        "Accept": accept,
    }
    arguments = {name: value for name, value in members.items() if value is not None}
    with known(connection, endpoint):
        answer = (_streamed if stream else _whole)(connection.client("sagemaker-runtime"), arguments)
    if timing:
        typer.echo(answer["ResponseMetadata"]["HTTPHeaders"].get("server-timing", ""), err=True)


def _streamed(client: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Print the parts of the answer as they come."""
    answer: dict[str, Any] = with_target_model(client).invoke_endpoint_with_response_stream(**arguments)
    for part in parts_of(answer):
        typer.echo(part, nl=False)
        sys.stdout.flush()
    typer.echo(b"", nl=sys.stdout.isatty())
    return answer


def _whole(client: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Print the answer."""
    answer: dict[str, Any] = client.invoke_endpoint(**arguments)
    typer.echo(answer["Body"].read(), nl=sys.stdout.isatty())
    return answer


def read_body(text: str) -> bytes:
    """The bytes of `--body`. Raises TorporError for a file that does not exist, OSError for one that cannot be read."""
    if text == "@-":
        if sys.stdin.isatty():
            typer.echo("reading the body from the terminal: Ctrl-D ends it", err=True)
        return sys.stdin.buffer.read()
    if not text.startswith("@"):
        return text.encode()
    existing_file("--body", file := Path(text[1:]))
    return file.read_bytes()
