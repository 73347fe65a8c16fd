"""`torpor conformance`: plays SageMaker's side of the contract against a container, and shows what it breaks."""

import difflib
import signal
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit
from uuid import uuid4

import typer
from rich.console import Console
from rich.text import Text

from torpor.cli import choices
from torpor.cli.arguments import existing_file
from torpor.cli.commands.replay import typed
from torpor.cli.output import console, plain_table
from torpor.conformance.client import ContainerClient
from torpor.conformance.container import CheckedContainer, ContainerUse, Material
from torpor.conformance.judging import Judgement
from torpor.conformance.limits import ContractLimits
from torpor.conformance.reporting import ConformanceReport, as_json, as_junit, line, rules_as_json, summary
from torpor.conformance.rule import Level, Rule
from torpor.conformance.rules import BY_ID, RULES
from torpor.conformance.running import Finding, run
from torpor.conformance.samples import DEFAULT_SAMPLE, ModelArtifact, Sample, unpacked
from torpor.conformance.started import StartedContainer
from torpor.errors import TorporError

USES = {use.value: use for use in (ContainerUse.STREAMING, ContainerUse.PIPELINE, ContainerUse.BATCH)}
"""The uses that `--as` adds to that of one model, or of several."""
BROKEN_MUST = 1
SIGNALLED = 128

COMMAND = "After --, the command that starts the container, with {port} for its port; instead of --url."
URL = "Where the container answers, as http://127.0.0.1:8080."
AS = "Check also what these uses need: one or more of streaming,pipeline,batch."
MODEL = (
    "A model to load: a folder that the container sees under the same path, or an archive. The container is then "
    "checked as a multi-model container. The first one answers the invocations."
)
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
    uses: Annotated[str | None, typer.Option("--as", help=AS)] = None,
    model: Annotated[list[str] | None, typer.Option(help=MODEL, metavar="NAME=PATH")] = None,
    too_large: Annotated[str | None, typer.Option(help=TOO_LARGE, metavar="NAME=PATH")] = None,
    models_dir: Annotated[Path | None, typer.Option(help=MODELS_DIR, metavar="DIR")] = None,
    listed_models: Annotated[int, typer.Option(help=LISTED, min=1)] = Material.listed_models,
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
    """Check a container against SageMaker's contract, rule by rule. Exits with 1 if a rule is broken that a container
    must keep."""
    with usage_errors(), tempfile.TemporaryDirectory(prefix="torpor-models-") as temporary:
        rules = chosen(only or [], skip or [])
        if listed:
            typer.echo(rules_as_json(rules)) if json else show_rules(rules)
            return
        choices.positive("--time-scale", time_scale)
        choices.writable_file("--junit", junit)
        Path(temporary).chmod(0o755)  # a container may have another user
        artifacts = artifacts_of(model or [], models_dir or Path(temporary))
        [large] = artifacts_of([too_large], models_dir or Path(temporary)) if too_large else [None]
        material = Material(
            sample=sample_of("--body", body, content_type) or DEFAULT_SAMPLE,
            slow=sample_of("--slow-body", slow_body, content_type),
            stream=sample_of("--stream-body", stream_body, content_type),
            models=artifacts,
            too_large=large,
            listed_models=listed_models,
        )
        limits = ContractLimits().scaled(time_scale)
        with opened(url, command or [], uses_of(uses, artifacts), material, limits) as container:
            report = checked(rules, container, url or " ".join(command or []), None if json else console())
    if json:
        typer.echo(as_json(report))
    if junit is not None:
        junit.write_bytes(as_junit(report))
    if not report.is_conformant:
        raise typer.Exit(BROKEN_MUST)


# -- what is asked -------------------------------------------------------------------------------------------------
@contextmanager
def usage_errors() -> Iterator[None]:
    """Turns the errors of options into those of usage, whose exit code is 2: 1 is that of a container."""
    try:
        yield
    except TorporError as error:
        raise typer.BadParameter(str(error)) from error


def chosen(only: Sequence[str], skip: Sequence[str]) -> list[Rule]:
    """The rules of `--only` without those of `--skip`. Raises TorporError for an unknown one."""
    for option, ids in (("--only", only), ("--skip", skip)):
        for id in ids:
            if id not in BY_ID:
                near = " or ".join(difflib.get_close_matches(id, BY_ID, 2))
                hint = f": do you mean {near}?" if near else ": `torpor conformance --list` shows the rules"
                raise TorporError(f"{option} {id} is no rule{hint}")
    found = [rule for rule in RULES if (not only or rule.id in only) and rule.id not in skip]
    if not found:
        raise TorporError("--only and --skip leave no rule to check")
    return found


def uses_of(text: str | None, artifacts: Sequence[ModelArtifact]) -> frozenset[ContainerUse]:
    """Those of `--as`, and that of one model or of several. Raises TorporError."""
    base = ContainerUse.MULTI if artifacts else ContainerUse.SINGLE
    return frozenset({base, *(USES[name] for name in (choices.known_names("--as", text, USES) if text else []))})


def artifacts_of(given: Sequence[str], models_dir: Path) -> list[ModelArtifact]:
    """The models of `--model`, unpacked. Raises TorporError."""
    found = []
    for text in given:
        target, _, path = text.partition("=")
        if not target or not path:
            raise TorporError(f"{text!r} is not NAME=PATH, such as Houston_TX.tar.gz=models/Houston_TX.tar.gz")
        if not Path(path).exists():
            raise TorporError(f"{text}: there is no {path}; the container has to see it under the same path")
        try:
            found.append(unpacked(target, Path(path), models_dir))
        except (OSError, tarfile.TarError) as error:
            raise TorporError(f"{text}: {path} is neither a folder nor a tar archive: {error}") from error
    return found


def sample_of(option: str, file: Path | None, content_type: str | None) -> Sample | None:
    """Raises TorporError."""
    if file is None:
        return None
    existing_file(option, file)
    return Sample(typed(file, content_type), file.read_bytes())


# -- the container -------------------------------------------------------------------------------------------------
@contextmanager
def opened(
    url: str | None,
    command: Sequence[str],
    uses: frozenset[ContainerUse],
    material: Material,
    limits: ContractLimits,
) -> Iterator[CheckedContainer]:
    """The container at the URL, or one that the command starts and that ends with the block. Raises TorporError."""
    if (url is None) == (not command):
        raise TorporError("name one container: --url http://HOST:PORT, or after -- the command that starts it")
    name = uuid4().hex
    if url is not None:
        yield CheckedContainer(ContainerClient(*address(url)), uses, material, limits, run=name)
        return
    with killed_by_signals() as started:
        try:
            process = StartedContainer(command, environment(uses))
        except OSError as error:
            raise TorporError(f"{command[0]} cannot be run: {error}") from error
        started.append(process)
        with process:
            client = ContainerClient("127.0.0.1", process.port(limits.start_s))
            yield CheckedContainer(client, uses, material, limits, process, name)


@contextmanager
def killed_by_signals() -> Iterator[list[StartedContainer]]:
    """SIGTERM and Ctrl-C kill the containers in this list: requests that wait for them end, and so does this process."""
    started: list[StartedContainer] = []

    def end(number: int, frame: object) -> None:
        for process in started:
            process.kill()
        raise SystemExit(SIGNALLED + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def address(url: str) -> tuple[str, int]:
    """Host and port of `--url`. Raises TorporError."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 80
    except ValueError as error:
        raise TorporError(f"--url {url}: {error}") from error
    if parts.scheme != "http" or not host or parts.path not in ("", "/") or parts.query:
        raise TorporError(f"--url {url} is not http://HOST:PORT: SageMaker speaks plain HTTP, with no path in front")
    return host, port


def environment(uses: frozenset[ContainerUse]) -> Mapping[str, str]:
    """What SageMaker sets, beside the port."""
    found = {"SAGEMAKER_MULTI_MODEL": "true"} if ContainerUse.MULTI in uses else {}
    return {**found, **({"SAGEMAKER_BATCH": "true"} if ContainerUse.BATCH in uses else {})}


# -- what is shown -------------------------------------------------------------------------------------------------
def checked(
    rules: Sequence[Rule], container: CheckedContainer, name: str, printer: Console | None
) -> ConformanceReport:
    """Runs the rules, and prints each finding as it comes."""
    uses = [use.value for use in ContainerUse if use in container.uses]
    group = ""

    def show(finding: Finding) -> None:
        nonlocal group
        if printer is None or finding.judgement is Judgement.NOT_APPLICABLE:
            return
        if finding.rule.group != group:
            group = finding.rule.group
            printer.print(f"\n{group.replace('_', ' ')}", style="bold")
        printer.print(Text(line(finding), style(finding)), soft_wrap=True)

    if printer is not None:
        printer.print(f"{name} · {', '.join(uses)}", style="bold", soft_wrap=True)
    report = ConformanceReport(name, uses, run(rules, container, show))
    if printer is not None:
        printer.print()
        for row in summary(report):
            printer.print(row, soft_wrap=True)
    return report


def style(finding: Finding) -> str:
    if finding.judgement is Judgement.BROKEN:
        return "red" if finding.rule.level is Level.MUST else "yellow"
    return "dim" if finding.judgement is Judgement.SKIPPED else ""


def show_rules(rules: Sequence[Rule]) -> None:
    shown = plain_table("", "rule", "level", "for", "what the source says")
    for rule in rules:
        uses = ", ".join(use.value for use in ContainerUse if use in rule.uses)
        shown.add_row(rule.id, rule.level.value, uses, rule.says)
    console().print(shown)
