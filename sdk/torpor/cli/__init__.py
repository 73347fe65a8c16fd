"""The `torpor` command: a table of its subcommands, one small module each, which parse, call and print."""

from importlib.metadata import version
from typing import Annotated

import typer

from torpor.cli.commands import (
    async_requests,
    conformance,
    control,
    cp,
    demo,
    deploy,
    env,
    invoke,
    logs,
    retire,
    router,
    transform,
    up,
)
from torpor.cli.commands.reports import cold_starts, costs, ls, metrics, top, why, why_denied
from torpor.cli.commands.studies import plan, replay, simulate
from torpor.cli.output import PlainErrors

app = typer.Typer(
    cls=PlainErrors,
    help="Torpor: a serverless multi-model endpoint that you run yourself, behind Amazon SageMaker's APIs.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"torpor {version('torpor')}")
        raise typer.Exit


@app.callback()
def common_options(
    version_requested: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


for command in (
    up.up,
    control.control,
    router.router,
    env.env,
    demo.demo,
    deploy.deploy,
    deploy.undeploy,
    cp.cp,
    invoke.invoke,
    ls.ls,
    top.top,
    metrics.metrics,
    why.why,
    why_denied.why_denied,
    retire.reload,
    retire.unload,
    cold_starts.cold_starts,
    costs.costs,
    logs.logs,
    replay.replay,
    simulate.simulate,
    plan.plan,
    conformance.conformance,
):
    app.command()(command)
app.add_typer(async_requests.app, name="async")
app.add_typer(transform.app, name="transform")
