"""Opens the container that is checked: the one at a URL, or one that a command starts."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit
from uuid import uuid4

from torpor.cli.commands.studies import choices
from torpor.conformance.container import CheckedContainer, Material, UseCase
from torpor.conformance.container_client import ContainerClient
from torpor.conformance.limits import ContractLimits
from torpor.conformance.started_container import StartedContainer
from torpor.errors import TorporError

USES = {use.value: use for use in (UseCase.STREAMING, UseCase.PIPELINE, UseCase.BATCH)}
"""The uses that `--as` adds to that of one model, or of several."""
SIGNALLED = 128
"""A shell's exit code for a signal, less its number."""


@contextmanager
def opened(
    url: str | None,
    command: Sequence[str],
    added: str | None,
    material: Material,
    time_scale: float,
    protocol: str | None = None,
) -> Iterator[CheckedContainer]:
    """The container at the URL, or one that the command starts and that ends with the block; or a server of this
    protocol. Raises TorporError."""
    if (url is None) == (not command):
        raise TorporError("name one container: --url http://HOST:PORT, or after -- the command that starts it")
    if protocol is not None and added:
        raise TorporError(f"--as is of SageMaker's contract: it does not go with --protocol {protocol}")
    uses = uses_of(added, material) if protocol is None else frozenset({UseCase(protocol)})
    limits, run = ContractLimits().scaled(time_scale), uuid4().hex
    if url is not None:
        yield CheckedContainer(ContainerClient(*address(url)), uses, material, limits, run=run)
        return
    with killed_by_signals(lambda: started(command, uses)) as process:
        client = ContainerClient("127.0.0.1", process.port(limits.start_s))
        yield CheckedContainer(client, uses, material, limits, process, run)


def uses_of(added: str | None, material: Material) -> frozenset[UseCase]:
    """Those of `--as`, and that of one model or of several. Raises TorporError."""
    base = UseCase.MULTI if material.models else UseCase.SINGLE
    return frozenset({base, *(USES[name] for name in (choices.known_names("--as", added, USES) if added else []))})


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


def started(command: Sequence[str], uses: frozenset[UseCase]) -> StartedContainer:
    """Raises TorporError."""
    try:
        return StartedContainer(command, environment(uses))
    except OSError as error:
        raise TorporError(f"{command[0]} cannot be run: {error}") from error


def environment(uses: frozenset[UseCase]) -> Mapping[str, str]:
    """What SageMaker sets, beside the port."""
    found = {"SAGEMAKER_MULTI_MODEL": "true"} if UseCase.MULTI in uses else {}
    return {**found, **({"SAGEMAKER_BATCH": "true"} if UseCase.BATCH in uses else {})}


@contextmanager
def killed_by_signals(start: Callable[[], StartedContainer]) -> Iterator[StartedContainer]:
    """The container for the block. SIGTERM and Ctrl-C kill it, which ends the requests that wait for it."""
    process: StartedContainer | None = None
    came: list[int] = []

    def end(number: int, frame: object) -> None:
        came.append(number)
        if process is not None:  # else it is being started, and ends as soon as it is there
            process.kill()
            raise SystemExit(SIGNALLED + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        process = start()
        with process:
            if came:
                raise SystemExit(SIGNALLED + came[0])
            yield process
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
