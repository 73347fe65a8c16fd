"""`torpor invoke`: one call from the shell, with the answer's bytes on standard output."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from torpor.cli.edge import EndpointName, Url, connected


def invoke(
    endpoint: EndpointName,
    target_model: Annotated[str | None, typer.Option(help="The model's key below the endpoint's prefix.")] = None,
    body: Annotated[str, typer.Option(help="Text, @file, or @- for standard input.")] = "@-",
    content_type: Annotated[str, typer.Option(help="What the body is.")] = "text/csv",
    accept: Annotated[str | None, typer.Option(help="What the answer should be.")] = None,
    timing: Annotated[bool, typer.Option("--timing", help="Say on standard error what the call waited for.")] = False,
    url: Url = None,
) -> None:
    """Call an endpoint, or one model of it, and print the answer."""
    runtime = connected(url).client("sagemaker-runtime")
    members = {"TargetModel": target_model, "Accept": accept}
    answer = runtime.invoke_endpoint(
        EndpointName=endpoint,
        Body=read_body(body),
        ContentType=content_type,
        **{name: value for name, value in members.items() if value is not None},
    )
    typer.echo(answer["Body"].read())
    if timing:
        typer.echo(answer["ResponseMetadata"]["HTTPHeaders"].get("server-timing", ""), err=True)


def read_body(text: str) -> bytes:
    """Raises OSError for a file that cannot be read."""
    if text == "@-":
        return sys.stdin.buffer.read()
    return Path(text[1:]).read_bytes() if text.startswith("@") else text.encode()
