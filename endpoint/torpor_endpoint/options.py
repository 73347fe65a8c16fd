"""The options of an endpoint: one table for the command line and the docs."""

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
    many: bool = False  # whether it may be given more than once


OPTIONS: tuple[Option, ...] = (
    Option("--port", "port", int, 4700, "The one port of all services."),
    Option("--host", "host", str, "127.0.0.1", "The address to listen on. Signatures are not verified: whoever reaches it may do anything."),
    Option("--allow-host", "allow_hosts", str, (), "Another name or address by which the endpoint may be called, with all names under it. May be repeated.", many=True),
    Option("--allow-origin", "allow_origins", str, (), "An origin, such as `http://localhost:3000`, whose web pages may do anything here. May be repeated.", many=True),
    Option("--descriptor", "descriptor", int, None, "For programs: the number of an inherited listening socket, instead of host and port (`python -m torpor_endpoint` only)."),
    Option("--data-dir", "data_dir", Path, Path(".torpor"), "Endpoints, models, objects and logs: all that survives a restart."),
    Option("--aws-strict", "strict", None, False, "Refuse what AWS refuses, and fail requests at zero capacity."),
    Option("--s3-endpoint", "s3_endpoint", str, None, "Another S3 for artifacts, with credentials from the usual chain, instead of the embedded one."),
    Option("--images", "images", Path, None, "A TOML file that says what serves other images: the built-in container, or a server of their own (adapter mode)."),
    Option("--unknown-images", "unknown_images", str, "refuse", "`built-in`: the built-in container serves every image that nothing else is known of. `refuse`: its endpoint is Failed."),
    Option("--refuse", "refuse", str, None, "`pickles`, `scripts`, or both with a comma: no instance loads such models, whatever their Environment says, and no training script runs."),
    Option("--warm-idle", "warm_idle_s", float, 600.0, "Seconds without any instance after which the zygote ends too."),
    Option("--emulate", "emulate", str, None, "`aws`: instances become ready only after delays as observed on AWS, to feel its cold starts."),
    Option("--seed", "seed", int, None, "Makes the emulated delays the same each time."),
    Option("--time-scale", "time_scale", float, 1.0, "Divides the delays of AWS's automatic scaling: 60 makes its minutes seconds."),
    Option("--region", "region", str, "us-east-1", "The region in texts, and for the instances."),
    Option("--account", "account", str, "123456789012", "The account number in ARNs and texts."),
    Option("--log-level", "log_level", str, "warning", "debug, info, warning or error."),
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
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    unknown_images: str = "refuse"
    refuse: str | None = None

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
