"""Defines the options of an endpoint in one table, for the command line and the documentation."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REFUSABLE = ("pickles", "scripts")
LOG_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True)
class Option:
    """One row of the table. `read` converts the text of the command line, and is None for a switch."""

    flag: str
    field: str
    read: Callable[[str], Any] | None
    default: Any
    meaning: str
    many: bool = False  # the command line may give it more than once


OPTIONS: tuple[Option, ...] = (
    Option("--port", "port", int, 4700, "The one port that serves all services."),
    Option("--host", "host", str, "127.0.0.1", "The address to listen on. Torpor verifies no signatures: every client that reaches it may do anything."),
    Option("--allow-host", "allow_hosts", str, (), "Another name or address by which clients may call the endpoint, with all names under it. You may repeat it.", many=True),
    Option("--allow-origin", "allow_origins", str, (), "An origin, such as `http://localhost:3000`, whose web pages may do anything here. You may repeat it.", many=True),
    Option("--descriptor", "descriptor", int, None, "The number of an inherited listening socket, in place of host and port. It is for programs that start `python -m torpor_endpoint`."),
    Option("--what-if", "what_if", str, None, "The module that simulates for the dashboard. It is for programs that start `python -m torpor_endpoint`; `torpor up` brings its own."),
    Option("--data-dir", "data_dir", Path, Path(".torpor"), "The folder of everything that survives a restart: endpoints, models, objects and logs."),
    Option("--aws-strict", "strict", None, False, "Refuse what AWS refuses, and fail requests at zero capacity."),
    Option("--s3-endpoint", "s3_endpoint", str, None, "Another S3 that holds the artifacts, in place of the embedded one. The credentials come from the usual chain."),
    Option("--images", "images", Path, None, "A TOML file that says what serves other images: the built-in container, or a server of the image's own (adapter mode)."),
    Option("--unknown-images", "unknown_images", str, "refuse", "`built-in`: the built-in container serves images that Torpor does not know. `refuse`: their endpoints become Failed."),
    Option("--refuse", "refuse", str, None, "`pickles`, `scripts`, or both with a comma: no instance loads such models, even if their Environment allows it. `scripts` also refuses training scripts."),
    Option("--warm-idle", "warm_idle_s", float, 600.0, "The zygote ends when no instance has run for this many seconds."),
    Option("--emulate", "emulate", str, None, "`aws`: instances become ready after the delays that were observed on AWS, so that you feel its cold starts."),
    Option("--seed", "seed", int, None, "The seed of the emulated delays and of the samples of data capture. The same seed gives the same ones."),
    Option("--time-scale", "time_scale", float, 1.0, "The divisor of the delays of AWS's automatic scaling: 60 turns its minutes into seconds."),
    Option("--travelling-clock", "travelling_clock", None, False, "For tests: `/_torpor/clock` moves the endpoint's clock forward, and everything that falls due on the way is done (`docs/how-to/test-your-application.md`). Only on a loopback address, and without `--time-scale` and `--emulate`."),
    Option("--faults", "faults", None, False, "For tests: `/_torpor/faults` has faults strike the embedded S3, instances and invocations (`docs/how-to/test-your-application.md`). Only on a loopback address, and without `--s3-endpoint`."),
    Option("--region", "region", str, "us-east-1", "The region in ARNs and texts, and of the instances."),
    Option("--account", "account", str, "123456789012", "The account number in ARNs and texts."),
    Option("--otel", "otel", None, False, "Send traces and metrics to an OpenTelemetry collector by OTLP over HTTP, as the `OTEL_*` variables say; pass the trace context on to containers. It needs the extra `otel`."),
    Option("--log-level", "log_level", str, "warning", "The lowest level of the log lines to print: debug, info, warning or error."),
    Option("--log-format", "log_format", str, "text", "`text`, or `json`: one object a line on standard error, with a line for each request (`--log-level info`)."),
)  # fmt: skip

PORT: int = OPTIONS[0].default


@dataclass(frozen=True)
class Options:
    """The values of the options, by the `field` of each row."""

    data_dir: Path = Path(".torpor")
    host: str = "127.0.0.1"
    port: int = PORT
    descriptor: int | None = None
    strict: bool = False
    s3_endpoint: str | None = None
    images: Path | None = None
    warm_idle_s: float = 600.0
    emulate: str | None = None
    seed: int | None = None
    time_scale: float = 1.0
    account: str = "123456789012"
    region: str = "us-east-1"
    log_level: str = "warning"
    log_format: str = "text"
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    unknown_images: str = "refuse"
    refuse: str | None = None
    travelling_clock: bool = False
    faults: bool = False
    what_if: str | None = None
    otel: bool = False

    @property
    def url(self) -> str:
        """The endpoint's address for clients on this machine."""
        return f"http://{'127.0.0.1' if self.host in ('', '0.0.0.0') else self.host}:{self.port}"

    @property
    def refused(self) -> frozenset[str]:
        """The items of REFUSABLE that no container runs."""
        return frozenset(self.refuse.split(",")) if self.refuse else frozenset()

    @property
    def bind(self) -> str:
        """The address in gunicorn's form."""
        return f"fd://{self.descriptor}" if self.descriptor is not None else f"{self.host}:{self.port}"


def command_line(options: Options) -> list[str]:
    """The arguments of `python -m torpor_endpoint` for these options."""
    values = [(option, value) for option in OPTIONS for value in _values(option, getattr(options, option.field))]
    return [_argument(option, value) for option, value in values if value is not None and value is not False]


def _values(option: Option, value: Any) -> tuple[Any, ...]:
    return tuple(value) if option.many else (value,)


def _argument(option: Option, value: object) -> str:
    return option.flag if option.read is None else f"{option.flag}={value}"
