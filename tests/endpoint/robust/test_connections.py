"""Clients that connect and disconnect leave nothing behind."""

import http.client
from pathlib import Path

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint

MIB = 1024 * 1024


def rss_bytes(pids: list[int]) -> int:
    return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 for pid in pids)


def connect(live: LiveEndpoint, times: int) -> None:
    """A connection of its own for each request."""
    for _ in range(times):
        connection = http.client.HTTPConnection("127.0.0.1", int(live.url.rpartition(":")[2]), timeout=60)
        connection.request("GET", "/_torpor/health")
        connection.getresponse().read()
        connection.close()


def growth_bytes(live: LiveEndpoint) -> int:
    before = rss_bytes(live.worker_pids())
    connect(live, 1000)
    return rss_bytes(live.worker_pids()) - before


@pytest.mark.thorough
def test_a_thousand_closed_connections_leave_no_memory_behind(tmp_path: Path) -> None:
    with LiveEndpoint(tmp_path) as live:
        connect(live, 1000)
        assert min(growth_bytes(live) for _ in range(3)) < MIB  # what each connection leaves, each round leaves
