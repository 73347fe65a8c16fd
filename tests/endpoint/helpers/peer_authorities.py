"""Authorities of deployments for tests, whose clock stands where the test puts it."""

import time

from torpor_endpoint.peers.authority_records import PeerRecords
from torpor_endpoint.peers.deployment_peers import DeploymentPeers


class MemoryKeeping:
    """Keeps an authority's records in memory."""

    def __init__(self) -> None:
        self.kept = PeerRecords()
        self.place = "the memory of a test"

    def read(self) -> PeerRecords:
        return self.kept

    def write(self, records: PeerRecords) -> None:
        self.kept = records


class TestedPeers:
    """A deployment's authority, and its clock."""

    __test__ = False

    def __init__(self, deployment: str = "0a1b2c3d", now_s: float | None = None) -> None:
        self.now_s = time.time() if now_s is None else now_s
        self.keeping = MemoryKeeping()
        self.peers = DeploymentPeers(self.keeping, deployment, lambda: self.now_s)
