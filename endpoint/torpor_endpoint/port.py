"""What the ports of an endpoint and of a router have in common: their options, and the checks of these."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from torpor_endpoint.core.origins.cross_origin import is_host, origin_of
from torpor_endpoint.log_lines import FORMATS
from torpor_endpoint.options import LOG_LEVELS


class PortOptions(Protocol):
    """The options of `torpor up` and of `torpor router` that say how a port is served."""

    @property
    def host(self) -> str: ...

    @property
    def bind(self) -> str: ...

    @property
    def allow_hosts(self) -> tuple[str, ...]: ...

    @property
    def allow_origins(self) -> tuple[str, ...]: ...

    @property
    def tls_cert(self) -> Path | None: ...

    @property
    def tls_key(self) -> Path | None: ...

    @property
    def connections_per_client(self) -> int: ...

    @property
    def log_level(self) -> str: ...

    @property
    def log_format(self) -> str: ...


PORT_CHECKS: tuple[tuple[str, Callable[[PortOptions], bool], str], ...] = (
    (
        "--allow-host",
        lambda options: all(map(is_host, options.allow_hosts)),
        "it must be a name or an address without a port, such as torpor.internal",
    ),
    (
        "--allow-origin",
        lambda options: all(map(origin_of, options.allow_origins)),
        "it must be scheme://host or scheme://host:port without a path, such as http://localhost:3000; none means all",
    ),
    ("--tls-cert", lambda options: options.tls_cert is None or options.tls_key is not None, "add --tls-key"),
    ("--tls-key", lambda options: options.tls_key is None or options.tls_cert is not None, "add --tls-cert"),
    (
        "--connections-per-client",
        lambda options: options.connections_per_client >= 0,
        "it must be a number of connections, or 0 for no limit",
    ),
    ("--log-level", lambda options: options.log_level in LOG_LEVELS, f"choose one of {', '.join(LOG_LEVELS)}"),
    ("--log-format", lambda options: options.log_format in FORMATS, f"choose one of {', '.join(FORMATS)}"),
)
"""Rows as those of `up.CHECKS`."""
