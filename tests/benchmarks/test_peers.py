"""The benchmarks' handling of peers that a machine cannot have."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.peers.all import PEERS, all_running
from benchmarks.peers.peer import Site

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class NoServer:
    """It ends at once."""

    name: str = "no server"
    environment: str = str(Path(sys.executable).parents[1])
    models_max: int | None = None

    def command(self, site: Site) -> list[str]:
        return ["python", "-c", f"import sys; sys.exit('no library for {site.names}')"]

    def request(self, model: str) -> bytes:
        return b""

    def said(self, body: bytes) -> float:
        raise NotImplementedError

    def bring(self, model: str) -> list[bytes] | None:
        return None


def test_a_peer_that_does_not_start_is_named_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with all_running([NoServer()], tmp_path, {"a.tar.gz": 1.0}, tmp_path) as targets:
        assert targets == []

    told = capsys.readouterr().err
    assert told.startswith("no server did not start, and is left out")
    assert "no library for ('a.tar.gz',)" in told


def test_make_installs_every_peer_from_pinned_versions() -> None:
    (recipe,) = [part for part in (ROOT / "Makefile").read_text().split("\n\n") if "\nbench-peers:" in part]

    for environment in {peer.environment for peer in PEERS}:
        pinned = (ROOT / "benchmarks" / "peers" / environment / "requirements.txt").read_text().splitlines()
        assert environment in recipe
        assert all("==" in line for line in pinned)
