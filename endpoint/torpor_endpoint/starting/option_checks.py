"""Checks of options that an endpoint and a router share: rows of rules, and the packages that an option needs."""

import os
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import TypeVar
from urllib.parse import urlsplit

from torpor_container.how_to_install import how_to_install
from torpor_endpoint.starting.cannot_start import BadOption
from torpor_endpoint.telemetry.environment import BadTelemetry, signals

SomeOptions = TypeVar("SomeOptions")  # of an endpoint or of a router

OTEL_MODULES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
"""What `--otel` imports."""

GRPC_MODULES = ("grpc", "grpc_health", "grpc_reflection", "google.protobuf")
"""What `--grpc-port` and `--picker-port` import."""


def check_rows(options: SomeOptions, rows: Iterable[tuple[str, Callable[[SomeOptions], bool], str]]) -> None:
    """Check the options by rows such as those of CHECKS. Raises BadOption."""
    for flag, good, rule in rows:
        if not good(options):
            raise BadOption(f"{flag}: {rule}")


def check_cryptography(flag: str) -> None:
    """Raises BadOption for a flag that needs a package which is not installed."""
    if not is_installed("cryptography"):
        raise BadOption(f"{flag}: the package cryptography is not installed: {how_to_install('tls')}")


def check_grpc(flag: str) -> None:
    """Raises BadOption for a flag that needs packages which are not installed."""
    if not all(map(is_installed, GRPC_MODULES)):
        raise BadOption(f"{flag}: gRPC is not installed: {how_to_install('grpc')}")


def check_telemetry() -> None:
    """Raises BadOption where `--otel` would not do what its variables say."""
    if not all(map(is_installed, OTEL_MODULES)):
        raise BadOption(f"--otel: OpenTelemetry's SDK is not installed: {how_to_install('otel')}")
    try:
        signals(os.environ)
    except BadTelemetry as error:
        raise BadOption(f"--otel: {error}") from error


def is_url(text: str) -> bool:
    """Whether this is the URL of a server."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, a port that is no number
        return False


def is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False
