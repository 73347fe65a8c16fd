"""Every peer that is measured, in the order of the tables."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

from benchmarks.bare import unpack
from benchmarks.measure import Target
from benchmarks.peers.bentoml.peer import BentoML
from benchmarks.peers.litserve.peer import LitServe
from benchmarks.peers.mlserver.peer import MLServer
from benchmarks.peers.peer import Peer, Site, installed, running
from benchmarks.peers.rayserve.peer import RayServe
from benchmarks.peers.triton.peer import Triton
from benchmarks.ports import DidNotStart, free_port

PEERS: tuple[Peer, ...] = (
    MLServer("MLServer, in process", workers=0),
    MLServer("MLServer, one worker", workers=1),
    LitServe(),
    RayServe(),
    Triton("Triton, 1 model", models_max=1),
    Triton("Triton, 8 models", models_max=None),
    BentoML(),
)


def present(wanted: bool) -> list[Peer]:
    """Those that `make bench-peers` has installed."""
    return [peer for peer in PEERS if wanted and installed(peer)]


def missing() -> list[str]:
    return [peer.name for peer in PEERS if not installed(peer)]


def unpacked(artifacts: Path, names: Sequence[str], folder: Path) -> Path:
    """The models as peers take them: files in a folder, which they need neither download nor unpack."""
    models = folder / "peer-models"
    models.mkdir()
    for name in names:
        unpack(artifacts / name, folder / "unpacking").rename(models / name.replace(".tar.gz", ".ubj"))
    return models


def site(peer: Peer, models: Path, names: Sequence[str], folder: Path) -> Site:
    own = folder / peer.name.replace(" ", "-").replace(",", "")
    own.mkdir()
    return Site(models, tuple(names), own, (free_port(), free_port(), free_port()))


@contextmanager
def all_running(
    peers: Sequence[Peer], models: Path, expected: Mapping[str, float], folder: Path
) -> Iterator[list[Target]]:
    """Each as a target, with as many of the models as it takes. One that does not start is named, and left out."""
    with ExitStack() as stack:
        targets: list[Target] = []
        for peer in peers:
            taken = dict(islice(expected.items(), peer.models_max))
            try:
                targets.append(stack.enter_context(running(peer, site(peer, models, list(taken), folder), taken)))
            except DidNotStart as error:
                print(f"{peer.name} did not start, and is left out: {error}", file=sys.stderr)
        yield targets
