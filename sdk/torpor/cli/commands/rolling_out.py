"""`torpor rollout`: updates an endpoint to another endpoint configuration step by step, and follows it to its end."""

import re
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Annotated

import typer

from torpor.cli import completion
from torpor.cli.arguments import span_s
from torpor.cli.asked_endpoint import Url, connected, known
from torpor.cli.exit_codes import UsageRefused
from torpor.cli.progress_bar import waiting
from torpor.errors import TorporError
from torpor.hosting.guarded_rollout import GuardedRollout, RolloutSize, RolloutView, views
from torpor.hosting.rollout_hits import RolloutHits

BAKE_S = 300
SIZE = re.compile(r"([1-9]\d*)(%?)")
SIZES = "10% of the capacity, or 2 for two instances"


def rollout(
    name: Annotated[
        str, typer.Argument(help="The endpoint's name.", metavar="NAME", autocompletion=completion.endpoints)
    ],
    to: Annotated[str, typer.Option("--to", help="The endpoint configuration to roll out.", metavar="CONFIG")],
    canary: Annotated[
        str | None, typer.Option(help=f"So much traffic first, then the rest: {SIZES}.", metavar="SIZE")
    ] = None,
    linear: Annotated[str | None, typer.Option(help="So much more traffic with each step.", metavar="SIZE")] = None,
    rolling: Annotated[
        str | None, typer.Option(help="Replace so many instances at a time, without a second fleet.", metavar="SIZE")
    ] = None,
    bake: Annotated[
        str | None, typer.Option(help="Watch the alarms so long after each step, as 90s; else 5m.", metavar="TIME")
    ] = None,
    keep_old: Annotated[
        str | None, typer.Option(help="Keep the old fleet so long after the last step.", metavar="TIME")
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(help="Roll back what takes longer, from 10m to 8h.", metavar="TIME")
    ] = None,
    alarm: Annotated[
        list[str] | None, typer.Option(help="Roll back if this CloudWatch alarm goes off; repeat it.", metavar="ALARM")
    ] = None,
    wait: Annotated[bool, typer.Option(help="Follow the rollout to its end.")] = True,
    url: Url = None,
) -> None:
    """Update an endpoint step by step, and go back if an alarm goes off.

    It ends with 0 if the endpoint serves CONFIG, and with 1 if it was rolled back. Without a size, all traffic moves at
    once. Ctrl-C ends the command, and not the rollout.
    """
    asked = planned(
        {"--canary": canary, "--linear": linear, "--rolling": rolling}, bake, keep_old, timeout, tuple(alarm or ())
    )
    connection = connected(url)
    sagemaker = connection.client("sagemaker")
    with known(connection, name):
        variants = sagemaker.describe_endpoint(EndpointName=name).get("ProductionVariants", [])
        hits = RolloutHits(connection.client("cloudwatch"), name, [one["VariantName"] for one in variants])
        sagemaker.update_endpoint(EndpointName=name, EndpointConfigName=to, DeploymentConfig=asked.deployment_config())
    if not wait:
        typer.echo(f"updating {name} to {to}: DescribeEndpoint shows its steps")
        return
    began_s = time.monotonic()
    with waiting(f"{name} to {to}") as live:
        last = followed(views(sagemaker, name), lambda: time.monotonic() - began_s, live)
    for variant, ratios in hits.ratios(to).items():
        typer.echo(f"model cache hits of {variant}: {ratios.told}")
    if not serves(to, last):
        raise TorporError(failure(name, to, last))
    typer.echo(f"{name} serves {to} after {clock(time.monotonic() - began_s)}")


def planned(
    sizes: dict[str, str | None], bake: str | None, keep_old: str | None, timeout: str | None, alarms: tuple[str, ...]
) -> GuardedRollout:
    """The rollout that the options ask for. `sizes` are by option. Raises UsageRefused."""
    given = {option.removeprefix("--"): size(option, text) for option, text in sizes.items() if text is not None}
    if len(given) > 1:
        raise UsageRefused(f"one rollout has one of --canary, --linear and --rolling, not {len(given)}")
    if bake is not None and not given:
        raise UsageRefused("--bake is for steps: add --canary, --linear or --rolling; --keep-old watches one step")
    if keep_old is not None and "rolling" in given:
        raise UsageRefused("--rolling ends old instances after each batch: leave out --keep-old")
    return GuardedRollout(
        **given,
        bake_s=BAKE_S if bake is None and given else seconds("--bake", bake) or 0,
        keep_old_s=seconds("--keep-old", keep_old) or 0,
        timeout_s=seconds("--timeout", timeout),
        alarms=alarms,
    )


def size(option: str, text: str) -> RolloutSize:
    """`10%`, or `2` instances. Raises UsageRefused."""
    if (found := SIZE.fullmatch(text)) is None:
        raise UsageRefused(f"{option} takes a size such as {SIZES}, not {text!r}")
    return RolloutSize(int(found[1]), percent=bool(found[2]))


def seconds(option: str, text: str | None) -> int | None:
    """The whole seconds of a span of time. Raises BadParameter."""
    return None if text is None else round(span_s(text, option))


def followed(
    seen: Iterable[RolloutView],
    elapsed_s: Callable[[], float],
    live: Callable[[str], None],
    say: Callable[[str], None] = typer.echo,
) -> RolloutView:
    """Say each stage once, when it begins, and show live for how long it has lasted. Returns the view of the end.

    `seen` has one view at least.
    """
    said: tuple[str, ...] = ()
    began_s = 0.0
    for view in seen:
        now_s = elapsed_s()
        new = [stage for stage in view.stages if stage not in said]
        for stage in new:
            say(f"{clock(now_s)}  {stage}")
        if new:
            began_s = now_s
        said = view.stages or said
        live(f"{view.status} · {view.doing} for {clock(now_s - began_s)} ·" if view.doing else view.status)
    return view


def serves(to: str, last: RolloutView) -> bool:
    """Whether the endpoint serves the configuration because of this rollout: one that had it before was rolled back if
    there is a reason."""
    return last.status == "InService" and last.config == to and not last.reason


def failure(name: str, to: str, last: RolloutView) -> str:
    """Why the endpoint does not serve the configuration that it was to have."""
    reason = last.reason or "no reason was given"
    if last.status == "UpdateRollbackFailed":
        return f"{name} is between {last.config} and {to}, for the rollback failed too: {reason}"
    if last.status == "InService":
        return f"{name} was rolled back to {last.config}: {reason}"
    return f"{name} is {last.status}: {reason}"


def clock(elapsed_s: float) -> str:
    """`0:05:12`"""
    return str(timedelta(seconds=int(elapsed_s)))
