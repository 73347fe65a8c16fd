"""The options of a router in one table, for the command line and the documentation."""

from pathlib import Path

from torpor_container.frozen_class import frozen
from torpor_container.http.sharing.shared_port import SharedPort, read
from torpor_endpoint.options import Option, port

ROUTER_OPTIONS: tuple[Option, ...] = (
    Option("--control", "control", str, "http://127.0.0.1:4700", "The URL of the control: the endpoint that owns the instances.", metavar="URL"),
    Option("--port", "port", port, 4701, "The port that serves invocations. 0 takes a free one."),
    Option("--host", "host", str, "127.0.0.1", "The address to listen on. One that other machines may reach needs a control with `--auth`, or `--insecure-allow-anyone`."),
    Option("--insecure-allow-anyone", "insecure", None, False, "Listen on an address that other machines may reach though the control verifies no caller: whoever reaches it may invoke every model."),
    Option("--picker-port", "picker_port", port, None, "Answer gateways too, on this port of the same address, with the same TLS: Envoy asks by external processing where a request goes, and sends it to the instance itself (`docs/how-to/gateway.md`). It needs the extra `grpc`.", metavar="N"),
    Option("--tls-cert", "tls_cert", Path, None, "Serve HTTPS with this certificate: a PEM file with its chain. It needs `--tls-key`. Changed files take effect without a restart (`docs/how-to/tls.md`).", metavar="FILE"),
    Option("--tls-key", "tls_key", Path, None, "The private key of `--tls-cert`, in PEM, without a passphrase.", metavar="FILE"),
    Option("--connections-per-client", "connections_per_client", int, 1000, "The most connections of one client, by its address; this machine's own are not counted. 0 is no such limit.", metavar="N"),
    Option("--allow-host", "allow_hosts", str, (), "Another name or address by which clients may call the router, with all names under it. You may repeat it.", many=True, metavar="NAME"),
    Option("--allow-origin", "allow_origins", str, (), "An origin, such as `http://localhost:3000`, whose web pages may invoke models here. You may repeat it.", many=True, metavar="ORIGIN"),
    Option("--control-ca", "trusted", str, None, "A file of the certificates that vouch for the control's, if the system does not know them. Without it, that of `AWS_CA_BUNDLE`.", metavar="FILE"),
    Option("--descriptor", "descriptor", int, None, "The number of an inherited listening socket, in place of host and port. It is for programs that start `python -m torpor_endpoint.router`.", hidden=True),
    Option("--shared-port", "shared", read, None, "What the router shares with the control at whose port it listens. It is for the endpoint that starts it.", hidden=True),
    Option("--seed", "seed", int, None, "The seed of the draws by the variants' weights and of the samples of data capture."),
    Option("--otel", "otel", None, False, "Send traces to an OpenTelemetry collector by OTLP over HTTP, as the `OTEL_*` variables say; pass the trace context on to containers. Metrics are the control's. It needs the extra `otel`."),
    Option("--log-level", "log_level", str, "warning", "The lowest level of the log lines to print: debug, info, warning or error."),
    Option("--log-format", "log_format", str, "text", "`text`, or `json`: one object a line on standard error, with a line for each request (`--log-level info`)."),
)  # fmt: skip


@frozen
class RouterOptions:
    """The values of the options, by the `field` of each row."""

    control: str = "http://127.0.0.1:4700"
    port: int = 4701
    host: str = "127.0.0.1"
    insecure: bool = False
    picker_port: int | None = None
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    trusted: str | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    connections_per_client: int = 1000
    descriptor: int | None = None
    shared: SharedPort | None = None
    seed: int | None = None
    otel: bool = False
    log_level: str = "warning"
    log_format: str = "text"

    @property
    def tls(self) -> bool:
        """Whether the port speaks HTTPS."""
        return self.tls_cert is not None

    @property
    def bind(self) -> str:
        """The address in gunicorn's form."""
        return f"fd://{self.descriptor}" if self.descriptor is not None else f"{self.host}:{self.port}"
