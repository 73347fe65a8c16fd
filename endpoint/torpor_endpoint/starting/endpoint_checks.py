"""Checks the options of an endpoint before anything is started."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from math import inf
from pathlib import Path
from urllib.parse import urlsplit

from torpor_account.core.access.rates import BadRate, CallRates
from torpor_account.core.origins.cross_origin import is_loopback
from torpor_account.port import PORT_CHECKS, PORT_MAX, listening_fault
from torpor_container.core.devices.asked_device import asked_device
from torpor_container.how_to_install import how_to_install
from torpor_endpoint.core.emulation import EMULATED
from torpor_endpoint.host.images import UNKNOWN, BadImages, Images
from torpor_endpoint.host.ray.ray_address import address_of, names_ray
from torpor_endpoint.options import KUBERNETES, LOCAL, REFUSABLE, Options
from torpor_endpoint.starting.cannot_start import BadOption, CannotStart
from torpor_endpoint.starting.option_checks import (
    check_cryptography,
    check_grpc,
    check_rows,
    check_telemetry,
    is_installed,
    is_url,
)

REGION = re.compile(r"(?![0-9]+$)(?!-)[a-zA-Z0-9-]{1,63}(?<!-)")
"""What boto3 accepts as a region: the label of a host name."""


ROUTERS_MAX = 64


def check(options: Options) -> None:
    """Check each option's text. Raises BadOption."""
    check_rows(options, CHECKS)
    try:
        Images.read(options.images)
    except BadImages as error:
        raise BadOption(f"--images: {error}") from error
    if options.otel:
        check_telemetry()
    if options.grpc_port is not None:
        check_grpc("--grpc-port")
    if options.tls:
        check_cryptography("--tls-self-signed" if options.tls_self_signed else "--tls-cert")
    try:
        CallRates.read(options.rate_limits)
    except BadRate as error:
        raise BadOption(f"--rate-limit: {error}") from error
    if options.encrypts:
        check_cryptography("--internal-tls")
    if options.database is not None:
        _check_database(options.database, options.standby)
    if options.auth:
        _check_credentials(options)
    if options.instances_on == KUBERNETES:
        _check_kubernetes(options)
    if names_ray(options.instances_on) and not is_installed("ray"):
        raise BadOption(f"--instances-on: Ray is not installed: {how_to_install('ray')}")
    if options.require_isolation and (lacks := unheld(options)):
        raise BadOption(f"--require-isolation: {'; '.join(lacks)}")


def check_router_ports(options: Options) -> None:
    """Check that routers with ports of their own can listen at those after the endpoint's, which is known. Raises
    BadOption, CannotStart."""
    if options.shares_port:
        return
    last = options.port + options.routers
    if options.routers and not options.port:
        raise BadOption("--port: it must be given with --router-ports, which come after it")
    if last > PORT_MAX:
        raise BadOption(f"--routers: their last port would be {last}, and {PORT_MAX} is the highest: lower --port")
    for port in range(options.port + 1, last + 1):
        if found := listening_fault(options.host, port):
            raise CannotStart(
                f"{options.host}:{port} cannot be listened on by a router: {found}: choose another --port, or fewer "
                "--routers"
            )


def unheld(options: Options) -> list[str]:
    """What scripts can do on this machine although a box should keep them from it, in words."""
    from torpor_container.isolation.abilities import found  # not needed to check other options

    return [] if "scripts" in options.refused else found().missing(endpoint_only=options.uses_roles)


def _check_database(url: str, standby: bool) -> None:
    """The server is asked: an endpoint without its database is of no use. A standby waits for its server, and says
    so."""
    if not is_installed("psycopg"):
        raise BadOption(f"--database: psycopg is not installed: {how_to_install('postgresql')}")
    if standby:
        return
    from torpor_account.storage.databases.postgresql_connection import fault

    if found := fault(url):
        raise BadOption(f"--database: {found}")


def _check_kubernetes(options: Options) -> None:
    """The cluster is asked: an endpoint that cannot launch is of no use."""
    from torpor_endpoint.host.kubernetes.host_start import fault

    if found := fault(options.kubernetes_file):
        raise BadOption(found)


def _check_credentials(options: Options) -> None:
    """A file that cannot be read is no reason to make a new root credential over it."""
    from torpor_account.access.root_key import BadCredentials, kept_pair
    from torpor_account.storage.data_dir import DataDir

    try:
        kept_pair(DataDir(options.data_dir).credentials)
    except BadCredentials as error:
        raise BadOption(f"--auth: {error}") from error


def _is_there(module: str) -> bool:
    """Whether there is such a module. It is not imported, and neither are the packages around it."""
    top, *inner = module.split(".")
    found = find_spec(top) if top else None
    places = (found and found.submodule_search_locations) or ()
    if not inner:
        return found is not None
    return any(Path(place, *inner).with_suffix(".py").is_file() or Path(place, *inner).is_dir() for place in places)


def _is_device(text: str) -> bool:
    try:
        asked_device(text)
    except ValueError:
        return False
    return True


def _is_reached(options: Options) -> bool:
    """Whether other machines may reach the endpoint's own address, where instances call that at all."""
    one_address = not is_loopback(options.host) and options.host not in ("", "0.0.0.0", "::")
    return one_address or bool(options.advertise or options.s3_endpoint)


def is_postgresql(text: str) -> bool:
    """Whether this is the URL of a PostgreSQL database."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("postgresql", "postgres") and len(parts.path) > 1 and parts.port != 0
    except ValueError:
        return False


def _has_password(url: str) -> bool:
    return urlsplit(url).password is not None or "password=" in urlsplit(url).query


CHECKS: tuple[tuple[str, Callable[[Options], bool], str], ...] = (
    (
        "--s3-endpoint",
        lambda options: options.s3_endpoint is None or is_url(options.s3_endpoint),
        "it must be a URL, such as http://127.0.0.1:9000",
    ),
    (
        "--database",
        lambda options: options.database is None or is_postgresql(options.database),
        "it must be a URL, such as postgresql://torpor@127.0.0.1:5432/torpor",
    ),
    (
        "--database",
        lambda options: options.database is None or not _has_password(options.database),
        "other users see the arguments of programs: put the password in PGPASSWORD, or in a file (PGPASSFILE)",
    ),
    (
        "--database",
        lambda options: options.database is None or not options.travelling_clock,
        "a clock that travels is for tests of one machine: leave out one of them",
    ),
    (
        "--standby",
        lambda options: not options.standby or options.database is not None,
        "it stands by for an endpoint whose records are in a database: name it with --database",
    ),
    (
        "--internal-tls",
        lambda options: options.internal_tls in ("on", "off"),
        "choose on or off",
    ),
    (
        "--instances-on",
        lambda options: options.instances_on in (LOCAL, KUBERNETES) or address_of(options.instances_on) is not None,
        f"choose one of {LOCAL}, {KUBERNETES}, ray, and ray://HOST:PORT, the address of a Ray Client server",
    ),
    (
        "--tls-self-signed",
        lambda options: not options.tls_self_signed or options.instances_on == LOCAL or options.s3_endpoint is not None,
        "instances on other machines read models over HTTPS, and trust public certificates only: use --tls-cert with "
        "such a one, leave out TLS, or let another S3 hold the models (--s3-endpoint)",
    ),
    (
        "--advertise",
        lambda options: options.advertise is None or is_url(options.advertise),
        "it must be a URL, such as http://10.0.0.5:4700",
    ),
    (
        "--routers",
        lambda options: 0 <= options.routers <= ROUTERS_MAX,
        f"it must be from 0 to {ROUTERS_MAX}",
    ),
    (
        "--router-ports",
        lambda options: not options.router_ports or options.routers > 0,
        "it says where the --routers listen: add these",
    ),
    (
        "--routers",
        lambda options: not options.routers or not (options.travelling_clock or options.faults),
        "routers keep real time, and no fault strikes in them: leave it out, or --travelling-clock and --faults",
    ),
    (
        "--advertise",
        lambda options: options.instances_on != KUBERNETES or _is_reached(options),
        "instances on other machines do not reach this one by its --host: give the URL by which they do, "
        "such as http://10.0.0.5:4700, or let another S3 hold the artifacts (--s3-endpoint)",
    ),
    (
        "--kubernetes-file",
        lambda options: options.kubernetes_file is None or options.instances_on == KUBERNETES,
        f"it is for --instances-on {KUBERNETES}",
    ),
    (
        "--keep-instances",
        lambda options: not options.keep_instances or options.instances_on != LOCAL,
        "instances on this machine end with the endpoint: leave it out",
    ),
    (
        "--what-if",
        lambda options: options.what_if is None or _is_there(options.what_if),
        "there is no such module",
    ),
    (
        "--analyzer",
        lambda options: options.analyzer is None or _is_there(options.analyzer),
        "there is no such module",
    ),
    ("--region", lambda options: bool(REGION.fullmatch(options.region)), "it must be a name such as us-east-1"),
    ("--account", lambda options: bool(re.fullmatch("[0-9]{12}", options.account)), "it must be a number of 12 digits"),
    (
        "--emulate",
        lambda options: options.emulate is None or options.emulate in EMULATED,
        f"choose one of {', '.join(EMULATED)}",
    ),
    (
        "--unknown-images",
        lambda options: options.unknown_images in UNKNOWN,
        f"choose one of {', '.join(UNKNOWN)}",
    ),
    (
        "--device",
        lambda options: options.device is None or _is_device(options.device),
        "it must be cpu, cuda, cuda:N with the number of a device from 0, or auto",
    ),
    (
        "--refuse",
        lambda options: options.refused <= set(REFUSABLE),
        f"choose of {', '.join(REFUSABLE)}, with a comma between them",
    ),
    (
        "--tls-self-signed",
        lambda options: not options.tls_self_signed or options.tls_cert is None,
        "leave it out, or --tls-cert and --tls-key",
    ),
    (
        "--rate-limit",
        lambda options: not options.rate_limits or options.auth,
        "it is for each known caller: add --auth",
    ),
    ("--warm-idle", lambda options: 0 < options.warm_idle_s < inf, "it must be more than 0"),
    ("--time-scale", lambda options: 0 < options.time_scale < inf, "it must be more than 0"),
    (
        "--travelling-clock",
        lambda options: not options.travelling_clock or is_loopback(options.host),
        "whoever reaches the endpoint can move its clock: use a loopback address, such as --host 127.0.0.1",
    ),
    (
        "--travelling-clock",
        lambda options: not options.travelling_clock or options.time_scale == 1.0,
        "it moves AWS's automatic scaling too: leave out --time-scale",
    ),
    (
        "--travelling-clock",
        lambda options: not options.travelling_clock or options.emulate is None,
        "the emulated delays are of real time: leave out --emulate",
    ),
    (
        "--travelling-clock",
        lambda options: not options.travelling_clock or options.instances_on == LOCAL,
        "it moves the clocks of instances of this machine: leave out --instances-on",
    ),
    (
        "--faults",
        lambda options: not options.faults or is_loopback(options.host),
        "whoever reaches the endpoint can have faults strike: use a loopback address, such as --host 127.0.0.1",
    ),
    (
        "--faults",
        lambda options: not options.faults or options.s3_endpoint is None,
        "they strike the embedded S3: leave out --s3-endpoint",
    ),
    (
        "--faults",
        lambda options: not options.faults or not options.tls,
        "instances then read models by S3's API, by a client that trusts public certificates only: leave out TLS",
    ),
    (
        "--faults",
        lambda options: not options.faults or options.instances_on == LOCAL,
        "they strike instances of this machine: leave out --instances-on",
    ),
    (
        "--host",
        lambda options: options.auth or options.insecure or is_loopback(options.host),
        "other machines may reach this address: add --auth, which verifies every caller, or --insecure-allow-anyone, "
        "which lets everyone who reaches it do anything",
    ),
    *PORT_CHECKS,
)
"""Each row: the flag, a check, and the rule for the error message."""
