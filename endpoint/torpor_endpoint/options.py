"""Defines the options of an endpoint in one table, for the command line and the documentation."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from torpor_account.core.origins.cross_origin import address_of, is_loopback
from torpor_container.frozen_class import frozen
from torpor_container.http.sharing.shared_port import SharedPort

LOCAL, KUBERNETES = "local", "kubernetes"
REFUSABLE = ("pickles", "scripts")
PORT_MAX = 65_535


@frozen
class Option:
    """One row of the table. `read` converts the text of the command line, and is None for a switch."""

    flag: str
    field: str
    read: Callable[[str], Any] | None
    default: Any
    meaning: str
    many: bool = False  # the command line may give it more than once
    metavar: str | None = None  # what the help calls its value; None: by its type
    hidden: bool = False  # it is for programs, and no option of `torpor`


def port(text: str) -> int:
    """The number of a port. Raises ValueError."""
    number = int(text)
    if not 0 <= number <= PORT_MAX:
        raise ValueError(f"{text} is not a port: it is from 0 to {PORT_MAX}")
    return number


OPTIONS: tuple[Option, ...] = (
    Option("--port", "port", port, 4700, "The one port that serves all services. 0 takes a free one."),
    Option("--host", "host", str, "127.0.0.1", "The address to listen on. One that other machines may reach needs `--auth`, or `--insecure-allow-anyone`."),
    Option("--auth", "auth", None, False, "Verify every request's signature, and enforce IAM's policies. The first start makes the root credential, in the file `credentials` of the data folder (`docs/how-to/users-and-policies.md`)."),
    Option("--insecure-allow-anyone", "insecure", None, False, "Listen on an address that other machines may reach without `--auth`: whoever reaches it may do anything, and run code as this user."),
    Option("--tls-cert", "tls_cert", Path, None, "Serve HTTPS with this certificate: a PEM file with its chain. It needs `--tls-key`. Changed files take effect without a restart (`docs/how-to/tls.md`).", metavar="FILE"),
    Option("--tls-key", "tls_key", Path, None, "The private key of `--tls-cert`, in PEM, without a passphrase.", metavar="FILE"),
    Option("--tls-self-signed", "tls_self_signed", None, False, "Serve HTTPS with a certificate that the endpoint makes for local use, keeps in the data folder, and renews. `torpor env` prints the `AWS_CA_BUNDLE` by which clients trust it."),
    Option("--grpc-port", "grpc_port", port, None, "Serve the Open Inference Protocol over gRPC too, on this port of the same address, with the same TLS and callers (`docs/how-to/open-inference.md`). It needs the extra `grpc`.", metavar="N"),
    Option("--connections-per-client", "connections_per_client", int, 1000, "The most connections of one client, by its address; this machine's own are not counted. 0 is no such limit.", metavar="N"),
    Option("--rate-limit", "rate_limits", str, (), "With `--auth`, how many calls per second each user or role may make, as `KIND=N`: `invocations`, `control`, `s3` or `pages` (`docs/how-to/users-and-policies.md`). There are no limits unless you set them. You may repeat it.", many=True, metavar="KIND=N"),
    Option("--allow-host", "allow_hosts", str, (), "Another name or address by which clients may call the endpoint, with all names under it. You may repeat it.", many=True, metavar="NAME"),
    Option("--allow-origin", "allow_origins", str, (), "An origin, such as `http://localhost:3000`, whose web pages may do anything here. You may repeat it.", many=True, metavar="ORIGIN"),
    Option("--descriptor", "descriptor", int, None, "The number of an inherited listening socket, in place of host and port. It is for programs that start `python -m torpor_endpoint`.", hidden=True),
    Option("--what-if", "what_if", str, None, "The module that simulates for the dashboard. It is for programs that start `python -m torpor_endpoint`; `torpor up` brings its own.", hidden=True),
    Option("--analyzer", "analyzer", str, None, "The module that does the work of Model Monitor's image in a processing job. It is for programs that start `python -m torpor_endpoint`; `torpor up` brings its own.", hidden=True),
    Option("--data-dir", "data_dir", Path, Path(".torpor"), "The folder of everything that survives a restart: endpoints, models, objects and logs."),
    Option("--aws-strict", "strict", None, False, "Refuse what AWS refuses, and fail requests at zero capacity."),
    Option("--s3-endpoint", "s3_endpoint", str, None, "Another S3 that holds the artifacts, in place of the embedded one. The credentials come from the usual chain.", metavar="URL"),
    Option("--images", "images", Path, None, "A TOML file that says what serves other images: the built-in container, or a server of the image's own (adapter mode).", metavar="FILE"),
    Option("--unknown-images", "unknown_images", str, "refuse", "`built-in`: the built-in container serves images that Torpor does not know. `refuse`: their endpoints become Failed."),
    Option("--refuse", "refuse", str, None, "`pickles`, `scripts`, or both with a comma: no instance loads such models, even if their Environment allows it. `scripts` also refuses training scripts.", metavar="KINDS"),
    Option("--device", "device", str, None, "What the models of the built-in container predict on, where their Environment has no `TORPOR_DEVICE`: `cpu`, `cuda`, `cuda:N` or `auto`. Without it, it is `cuda` on instance types that have a GPU, and `cpu` on the others (`docs/how-to/gpu.md`).", metavar="DEVICE"),
    Option("--require-isolation", "require_isolation", None, False, "Do not start where this machine cannot hold scripts to their boxes (`docs/explanation/isolation.md`), and let no Environment widen a box."),
    Option("--instances-on", "instances_on", str, LOCAL, "What runs the instances: `local`, which is this machine; `kubernetes`, a cluster (`docs/how-to/kubernetes.md`); `ray`, the Ray cluster that this machine is a node of or that `RAY_ADDRESS` names; `ray://HOST:PORT`, a cluster by its Ray Client server (`docs/how-to/ray.md`).", metavar="HOST"),
    Option("--kubernetes-file", "kubernetes_file", Path, None, "A TOML file with the image of the instances in a cluster, and how else their pods are made.", metavar="FILE"),
    Option("--advertise", "advertise", str, None, "The URL by which instances on other machines reach this endpoint. Without it, they use the endpoint's own address.", metavar="URL"),
    Option("--database", "database", str, None, "A PostgreSQL database in place of SQLite files in the data folder: `postgresql://user@host/name`, without a password (`docs/how-to/postgresql.md`).", metavar="URL"),
    Option("--standby", "standby", None, False, "Wait for as long as another endpoint uses the `--database`, and take over within 10 seconds once it has ended or is frozen."),
    Option("--keep-instances", "keep_instances", None, False, "Leave instances on other machines running when the endpoint stops. Its next start adopts them."),
    Option("--internal-tls", "internal_tls", str, "on", "`on`: control, routers and instances on other machines speak TLS with each other, each with a certificate of the deployment's own authority (`docs/how-to/internal-tls.md`). `off`: they do not. Processes of one machine need none.", metavar="on|off"),
    Option("--routers", "routers", int, 0, "Run so many routers beside the endpoint, as processes that answer invocations at the same port (`docs/how-to/routers.md`)."),
    Option("--router-ports", "router_ports", None, False, "Have each of the `--routers` listen at a port of its own, after the endpoint's, and not at the endpoint's. With `--no-runtime` they do so anyway."),
    Option("--no-runtime", "no_runtime", None, False, "Answer no invocations: leave them to routers. `torpor control` sets it."),
    Option("--warm-idle", "warm_idle_s", float, 600.0, "A zygote ends when it has had no child for this many seconds. A few seconds give up its memory at rest, for wakes that import again.", metavar="SECONDS"),
    Option("--emulate", "emulate", str, None, "`aws`: instances become ready after the delays that were observed on AWS, so that you feel its cold starts.", metavar="aws"),
    Option("--seed", "seed", int, None, "The seed of the emulated delays, of the draws by the variants' weights, and of the samples of data capture. The same seed gives the same ones."),
    Option("--time-scale", "time_scale", float, 1.0, "The divisor of the delays of AWS's automatic scaling, of rollouts, and of instances that follow inference components: 60 turns their minutes into seconds."),
    Option("--travelling-clock", "travelling_clock", None, False, "For tests: `/_torpor/clock` moves the endpoint's clock forward, and everything that falls due on the way is done (`docs/how-to/test-your-application.md`). Only on a loopback address, and without `--time-scale` and `--emulate`."),
    Option("--faults", "faults", None, False, "For tests: `/_torpor/faults` has faults strike the embedded S3, instances and invocations (`docs/how-to/test-your-application.md`). Only on a loopback address, and without `--s3-endpoint`."),
    Option("--region", "region", str, "us-east-1", "The region in ARNs and texts, and of the instances."),
    Option("--account", "account", str, "123456789012", "The account number in ARNs and texts."),
    Option("--otel", "otel", None, False, "Send traces and metrics to an OpenTelemetry collector by OTLP over HTTP, as the `OTEL_*` variables say; pass the trace context on to containers. It needs the extra `otel`."),
    Option("--log-level", "log_level", str, "warning", "The lowest level of the log lines to print: debug, info, warning or error."),
    Option("--log-format", "log_format", str, "text", "`text`, or `json`: one object a line on standard error, with a line for each request (`--log-level info`)."),
)  # fmt: skip

PORT: int = OPTIONS[0].default


@frozen
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
    require_isolation: bool = False
    device: str | None = None
    travelling_clock: bool = False
    faults: bool = False
    what_if: str | None = None
    analyzer: str | None = None
    otel: bool = False
    auth: bool = False
    insecure: bool = False
    instances_on: str = LOCAL
    kubernetes_file: Path | None = None
    advertise: str | None = None
    keep_instances: bool = False
    database: str | None = None
    standby: bool = False
    internal_tls: str = "on"
    routers: int = 0
    router_ports: bool = False
    no_runtime: bool = False
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_self_signed: bool = False
    grpc_port: int | None = None
    connections_per_client: int = 1000
    rate_limits: tuple[str, ...] = ()
    called: str | None = None
    """The name in the certificate by which clients on this machine call the endpoint. `up.secured` finds it."""
    ca_bundle: Path | None = None
    """The file by which they trust the certificate, where they do not anyway. `up.secured` writes it."""
    shared: SharedPort | None = None
    """What the endpoint shares with the routers at its port. `up.run` opens it."""

    @property
    def tls(self) -> bool:
        """Whether the port speaks HTTPS."""
        return self.tls_self_signed or self.tls_cert is not None

    @property
    def url(self) -> str:
        """The endpoint's address for clients on this machine."""
        host = self.called or ("127.0.0.1" if self.host in ("", "0.0.0.0") else self.host)
        bracketed = f"[{host}]" if ":" in host else host
        return f"{'https' if self.tls else 'http'}://{bracketed}:{self.port}"

    @property
    def called_as(self) -> tuple[str, ...]:
        """The names and addresses by which clients may call the endpoint, beside its own."""
        advertised = urlsplit(self.advertise).hostname if self.advertise else None
        return (*self.allow_hosts, *([advertised] if advertised else []))

    @property
    def shares_port(self) -> bool:
        """Whether routers answer at the endpoint's own port."""
        return self.routers > 0 and not (self.router_ports or self.no_runtime)

    @property
    def router_urls(self) -> tuple[str, ...]:
        """The addresses of the routers beside the endpoint that have ports of their own."""
        if self.shares_port:
            return ()
        return tuple(replace(self, port=self.port + number).url for number in range(1, self.routers + 1))

    @property
    def refused(self) -> frozenset[str]:
        """The items of REFUSABLE that no container runs."""
        return frozenset(self.refuse.split(",")) if self.refuse else frozenset()

    @property
    def encrypts(self) -> bool:
        """Whether instances are on other machines, and speak TLS with control and routers."""
        return self.internal_tls == "on" and self.instances_on != LOCAL

    @property
    def uses_roles(self) -> bool:
        """Whether execution roles say what instances and jobs may do. Another S3 would not know their credentials."""
        return self.auth and self.s3_endpoint is None

    @property
    def instances_url(self) -> str:
        """The endpoint's address for its instances. Those of this machine use its own: another may lead elsewhere."""
        return self.url if self.instances_on == LOCAL else self.advertise or self.url

    @property
    def lends_apart(self) -> bool:
        """Whether instances get credentials at an address of their own: the SDKs send for them on loopback only, or by
        HTTPS with a certificate of a public authority."""
        here = self.uses_roles and self.instances_on == LOCAL
        return here and (self.tls or (not is_loopback(self.host or "127.0.0.1") and not _is_unspecified(self.host)))

    @property
    def bind(self) -> str:
        """The address in gunicorn's form."""
        return f"fd://{self.descriptor}" if self.descriptor is not None else f"{self.host}:{self.port}"


def _is_unspecified(host: str) -> bool:
    address = address_of(host)
    return address is not None and address.is_unspecified


def command_line(options: object, table: tuple[Option, ...] = OPTIONS) -> list[str]:
    """The arguments of `python -m torpor_endpoint`, or of the program of another table, for these options."""
    values = [(option, value) for option in table for value in _values(option, getattr(options, option.field))]
    return [_argument(option, value) for option, value in values if value is not None and value is not False]


def _values(option: Option, value: Any) -> tuple[Any, ...]:
    return tuple(value) if option.many else (value,)


def _argument(option: Option, value: object) -> str:
    return option.flag if option.read is None else f"{option.flag}={value}"
