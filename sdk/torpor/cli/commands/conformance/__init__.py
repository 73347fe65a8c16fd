"""`torpor conformance`: plays SageMaker's side of the contract against a container, or another protocol's client, and
shows what is broken.

This module has the options. What they need is imported when the command runs.
"""

from pathlib import Path
from typing import Annotated

import typer

from torpor.cli.commands.studies import choices
from torpor.cli.console import console
from torpor.errors import TorporError

BROKEN_MUST = 1

COMMAND = "After --, the command that starts the container, with {port} for its port; instead of --url."
URL = "Where the container answers, as http://127.0.0.1:8080."
AS = "Check also what these uses need: one or more of streaming,pipeline,batch."
PROTOCOL = (
    "Check any server of this protocol, in place of SageMaker's contract: v2, the Open Inference Protocol over REST, "
    "or tfs, TensorFlow Serving's REST API. --model is then the name of a model that it has, and --body a request."
)
MODEL = (
    "A model to load: a folder that the container sees under the same path, or an archive. The container is then "
    "checked as a multi-model container. The first one answers the invocations."
)
HEADER = "Send this with each request of --protocol, as X-Torpor-Endpoint:houses, or Authorization:… of who calls."
TOO_LARGE = "A model that does not fit into the container's memory: LoadModel has to answer 507."
MODELS_DIR = "Unpack archives in this folder, which the container sees under the same path; else in a temporary one."
LISTED = "Load this many models to see all pages of the list."
BODY = "A body that the container answers with success; else the line 1,2,3,4."
CONTENT_TYPE = "The media type of the bodies; else by their suffix."
SLOW = "A body whose prediction takes seconds, to see what happens meanwhile."
STREAM = "A body whose answer is streamed; else that of --body."
TIME_SCALE = "Multiply AWS's time limits (2 s for a ping, 60 s for an invocation) by this."
JUNIT = "Write the result as JUnit XML to this file."


def conformance(
    command: Annotated[list[str] | None, typer.Argument(help=COMMAND, metavar="[-- COMMAND...]")] = None,
    url: Annotated[str | None, typer.Option(help=URL)] = None,
    protocol: Annotated[str | None, typer.Option(help=PROTOCOL, metavar="v2|tfs")] = None,
    uses: Annotated[str | None, typer.Option("--as", help=AS)] = None,
    model: Annotated[list[str] | None, typer.Option(help=MODEL, metavar="NAME=PATH")] = None,
    header: Annotated[list[str] | None, typer.Option(help=HEADER, metavar="NAME:VALUE")] = None,
    too_large: Annotated[str | None, typer.Option(help=TOO_LARGE, metavar="NAME=PATH")] = None,
    models_dir: Annotated[Path | None, typer.Option(help=MODELS_DIR, metavar="DIR")] = None,
    listed_models: Annotated[int, typer.Option(help=LISTED, min=1)] = 3,
    body: Annotated[Path | None, typer.Option(help=BODY, metavar="FILE")] = None,
    content_type: Annotated[str | None, typer.Option(help=CONTENT_TYPE)] = None,
    slow_body: Annotated[Path | None, typer.Option(help=SLOW, metavar="FILE")] = None,
    stream_body: Annotated[Path | None, typer.Option(help=STREAM, metavar="FILE")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Check this rule, and no other.", metavar="RULE")] = None,
    skip: Annotated[list[str] | None, typer.Option(help="Do not check this rule.", metavar="RULE")] = None,
    time_scale: Annotated[float, typer.Option(help=TIME_SCALE)] = 1.0,
    listed: Annotated[bool, typer.Option("--list", help="Show the rules, and check nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    junit: Annotated[Path | None, typer.Option(help=JUNIT, metavar="FILE")] = None,
) -> None:
    """Check a container against SageMaker's contract, or a server against another protocol, rule by rule. Exits with 1
    if a rule that must hold is broken."""
    from torpor.cli.commands.conformance.given_options import Given, chosen
    from torpor.cli.commands.conformance.opened_container import opened
    from torpor.cli.commands.conformance.rule_lines import checked, show_rules
    from torpor.conformance.findings_report import as_json, as_junit, rules_as_json

    try:
        rules = chosen(only or [], skip or [], protocol)
        if listed:
            typer.echo(rules_as_json(rules)) if json else show_rules(rules)
            return
        choices.positive("--time-scale", time_scale)
        choices.writable_file("--junit", junit)
        bodies = body, slow_body, stream_body, content_type
        given = Given(model or [], too_large, models_dir, *bodies, listed_models, header or [])
        with (
            given.material(protocol) as material,
            opened(url, command or [], uses, material, time_scale, protocol) as container,
        ):
            report = checked(rules, container, url or " ".join(command or []), None if json else console())
    except TorporError as error:  # of an option: 1 is the exit code of a container
        raise typer.BadParameter(str(error)) from error
    if json:
        typer.echo(as_json(report))
    if junit is not None:
        junit.write_bytes(as_junit(report))
    if not report.is_conformant:
        raise typer.Exit(BROKEN_MUST)
