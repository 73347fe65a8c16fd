"""What telemetry adds to a warm request: endpoint processes without it, and with 1 % and all of the requests sampled.

Spans and metrics go to a collector of this process, which reads and drops them: the processor time of the endpoint's
processes counts, its own does not.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from unittest.mock import patch

from benchmarks.live import Live, Serve
from benchmarks.live import live as own_process
from benchmarks.measure import Figures, Target, Turn, agree, figures, spread, warm
from benchmarks.own_answers import make_models
from benchmarks.sizes import Sizes

OFF = "without telemetry"
ALL = "100 % sampled"
SHARES = {OFF: None, "1 % sampled": "0.01", ALL: "1"}
TURNS = 6
"""So many of the other sections' turns make one turn of this section: a batch of spans waits for five seconds."""


class NothingSent(Exception):
    """An endpoint that should send spans has sent none: there is nothing to compare."""


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    artifacts = folder / "artifacts"
    expected = make_models(artifacts, 1)
    with ExitStack() as stack:
        targets, received = [], {}
        for name, share in SHARES.items():
            counts = received[name] = dict[str, int]()
            running = stack.enter_context(_serving(share, stack.enter_context(_collector(counts))))
            running.link(artifacts)
            running.deploy()
            targets.append(running.through(name, expected))
            agree(targets[-1:])
        found = [row for connections in sizes.connections for row in _measured(targets, connections, sizes)]
    if "/v1/traces" not in received[ALL]:
        raise NothingSent
    return found


@contextmanager
def _serving(share: str | None, collector: str) -> Iterator[Live]:
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector,
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": share or "0",
    }
    with patch.dict(os.environ, variables), own_process(otel=share is not None) as running:
        yield running


@contextmanager
def _collector(counts: dict[str, int]) -> Iterator[str]:
    """The URL of a collector that counts requests by their path."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            counts[self.path] = counts.get(self.path, 0) + 1
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *values: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _measured(targets: Sequence[Target], connections: int, sizes: Sizes) -> list[Figures]:
    turns = warm(targets, (), connections, sizes.turn_s * TURNS, sizes.rounds)
    return [_row(name, connections, turns) for name in turns]


def _row(name: str, connections: int, turns: Mapping[str, Sequence[Turn]]) -> Figures:
    pairs = list(zip(turns[name], turns[OFF], strict=True))
    added = spread("added_us", [one.cpu_us - other.cpu_us for one, other in pairs])
    ratios = spread("cpu_of_without", [one.cpu_us / other.cpu_us for one, other in pairs])
    return {"what": name, "connections": connections, **figures(turns[name]), **added, **ratios}
