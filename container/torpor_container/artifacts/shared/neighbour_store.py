"""A store that asks neighbours for an artifact before it reads the object in S3.

S3 says what the object is: each fetch begins with its HEAD there, by the instance's own rights. A neighbour only sends
bytes, which must have the size and the ETag that S3 has told. On any other outcome S3 sends them.
"""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from torpor_container.artifacts.errors import disk_full_for
from torpor_container.artifacts.receiver import Receiver
from torpor_container.artifacts.shared.asking_neighbours import HasNot, NeighbourFailed, Take, taken_from
from torpor_container.artifacts.shared.etag_proof import EtagProof
from torpor_container.artifacts.shared.kept_archives import KeptArchives
from torpor_container.artifacts.shared.named_neighbours import NamedNeighbours, NeighboursPlace
from torpor_container.artifacts.shared.neighbour_trust import NeighbourTrust
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, ArtifactStore, Listed
from torpor_container.processes.threads import run_to_completion
from torpor_container.wire import FetchedFrom, SharedArtifacts

log = logging.getLogger(__name__)

Ask = Callable[[NeighboursPlace, str, ArtifactHead, Take], Awaitable[None]]
"""As `asking_neighbours.taken_from`."""


class NeighbourStore:
    """The objects of `store`, from neighbours where `named` names some that have them. What came is `kept` for others.

    `origins` has from where each object came that was fetched and not yet asked for, by key.
    """

    def __init__(self, store: ArtifactStore, named: NamedNeighbours, kept: KeptArchives, ask: Ask = taken_from) -> None:
        self.origins: dict[str, FetchedFrom] = {}
        self.named = named
        self.kept = kept
        self._store = store
        self._ask = ask
        self._trust = NeighbourTrust[str]()
        self._came = Counter[FetchedFrom]()
        self.given = 0  # artifacts that neighbours took, each whole

    def status(self) -> SharedArtifacts:
        """What the instance tells of it in its state."""
        return {
            "from_neighbours": self._came[FetchedFrom.NEIGHBOUR],
            "from_s3": self._came[FetchedFrom.S3],
            "given": self.given,
            "kept_bytes": self.kept.used_bytes,
        }

    async def head(self, key: str) -> ArtifactHead:
        return await self._store.head(key)

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        said = self.named.taken(key)
        origin = FetchedFrom.S3
        if head.file is None and said is not None and await self._from_one_of(said.places, said.target, head, into):
            origin = FetchedFrom.NEIGHBOUR
        else:
            await self._store.get(key, head, into)
        if head.file is None:
            self.origins[key] = origin
            self._came[origin] += 1
            await run_to_completion(self.kept.keep, key, head.version, into)

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        return await self._store.listed(prefix, at_most)

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        return await self._store.some_keys(folder, at_most)

    async def _from_one_of(
        self, places: tuple[NeighboursPlace, ...], target: str, head: ArtifactHead, into: Path
    ) -> bool:
        """Whether a neighbour has sent the object. An object whose ETag proves nothing is not asked for."""
        if not EtagProof(head.version, head.size_bytes).possible:
            return False
        by_place = {place.at: place for place in places}
        for at in self._trust.to_ask(by_place):
            with suppress(HasNot):
                if await self._from(by_place[at], target, head, into):
                    return True
        return False

    async def _from(self, place: NeighboursPlace, target: str, head: ArtifactHead, into: Path) -> bool:
        """Whether this neighbour has sent the object. Raises HasNot."""
        receiver, proof = Receiver(into), EtagProof(head.version, head.size_bytes)

        def put(piece: bytes) -> None:
            receiver.take(piece)
            proof.take(piece)

        async def take(piece: bytes) -> None:
            await run_to_completion(put, piece)

        try:
            with disk_full_for(target):
                await self._ask(place, target, head, take)
            if not proof.holds():
                raise NeighbourFailed("its bytes are not those of the object in S3")
            await run_to_completion(receiver.complete)
        except NeighbourFailed as failure:
            self._trust.failed(place.at)
            log.warning("%s is fetched from S3, and not from the neighbour %s: %s", target, place.at, failure)
            return False
        finally:
            await run_to_completion(receiver.abandon)
        self._trust.served(place.at)
        return True
