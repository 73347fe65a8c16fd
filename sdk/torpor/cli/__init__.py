"""The `torpor` command: a table of its subcommands, one small module each, which parse, call and print."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer

from torpor.cli.console import PlainErrors

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Run an endpoint": {
        "up": "up:up",
        "control": "control:control",
        "router": "router:router",
        "env": "env:env",
        "demo": "demo:demo",
    },
    "Deploy and call models": {
        "deploy": "deploy:deploy",
        "undeploy": "deploy:undeploy",
        "rollout": "rolling_out:rollout",
        "cp": "cp:cp",
        "invoke": "invoke:invoke",
        "reload": "retire:reload",
        "unload": "retire:unload",
        "versions": "versions.shown_versions:versions",
        "label": "versions.labelling:label",
    },
    "See what happens, and why": {
        "ls": "reports.ls:ls",
        "top": "reports.top:top",
        "metrics": "reports.metric_table:metrics",
        "why": "reports.why:why",
        "why-denied": "reports.why_denied:why_denied",
        "cold-starts": "reports.cold_start_table:cold_starts",
        "costs": "reports.cost_report:costs",
        "ledger": "reports.ledger_copy:ledger",
        "logs": "logs:logs",
        "certificates": "reports.certificates:certificates",
    },
    "Simulate, plan and replay": {
        "simulate": "studies.simulate:simulate",
        "plan": "studies.plan:plan",
        "tune": "tuning.tune:tune",
        "confirm": "studies.confirm:confirm",
        "replay": "studies.replay:replay",
        "profile": "studies.model_groups.profile_group:profile",
        "prices": "price_lists:app",
    },
    "Jobs and checks": {
        "async": "async_requests:app",
        "transform": "transform:app",
        "drift": "studies.drift_files:drift",
        "conformance": "conformance:conformance",
    },
}
"""By the heading of the help, and the name of a subcommand, in the order of the help: its module in
`torpor.cli.commands`, and the function or the group in it."""

COMMANDS: Mapping[str, str] = {name: place for group in GROUPS.values() for name, place in group.items()}


class OnDemand(Mapping[str, Any]):
    """The subcommands. Each is imported when it is asked for, so that one command does not wait for the others."""

    def __getitem__(self, name: str) -> Any:
        module, _, found = COMMANDS[name].partition(":")
        made = _made(name, getattr(import_module(f"torpor.cli.commands.{module}"), found))
        made.rich_help_panel = next(heading for heading, group in GROUPS.items() if name in group)
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _made(name: str, target: Any) -> Any:
    """The subcommand for a function, or for a group of further ones."""
    if not isinstance(target, typer.Typer):
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name)(target)
        return typer.main.get_command(alone)
    group = typer.main.get_command(target)
    group.name = name
    return group


class Commands(PlainErrors):
    """The group of all subcommands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = OnDemand()  # type: ignore[assignment]  # nobody adds to them

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


app = typer.Typer(
    cls=Commands,
    help="Torpor: a serverless multi-model endpoint that you run yourself, behind Amazon SageMaker's APIs.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(f"torpor {version('torpor')}")
        raise typer.Exit


@app.callback()
def common_options(
    version_requested: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass
