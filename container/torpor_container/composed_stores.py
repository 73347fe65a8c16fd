"""Composes the stores of artifacts of one instance from its settings. They read nothing until they are used."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from torpor_container.artifacts.digests import digested
from torpor_container.artifacts.location import Location, Prefix
from torpor_container.artifacts.stores.artifact_store import ArtifactStore, LazyArtifactStore
from torpor_container.artifacts.stores.folder import FolderArtifactStore, PermittedFolderStore
from torpor_container.artifacts.stores.s3 import S3ArtifactStore
from torpor_container.artifacts.stores.s3_access import S3Access, check_readable
from torpor_container.settings import Settings

if TYPE_CHECKING:
    from torpor_container.artifacts.shared.neighbour_store import NeighbourStore
    from torpor_container.transport.peers.peer_tls import PeerTls


class ComposedStores:
    """The stores of one instance. `shared` is that of an instance that shares its models' artifacts with others."""

    def __init__(self, settings: Settings, environment: Mapping[str, str], peers: "PeerTls | None" = None) -> None:
        """`peers` has what the instance proves itself with to others."""
        self.shared: NeighbourStore | None = None
        self._peers = peers
        self._settings = settings
        self._environment = environment

    def of_models(self, prefix: Prefix) -> ArtifactStore:
        """The models' store."""
        store = self.of(prefix)
        if self._settings.multi_model and self._settings.neighbours_bytes and prefix.scheme == "s3":
            store = self.shared = _sharing(store, prefix, self._settings, self._peers)
        return self._digested(store, prefix)

    def digested(self, prefix: Prefix) -> ArtifactStore:
        """The store, or what a list of digests lets through of it."""
        return self._digested(self.of(prefix), prefix)

    def of(self, place: Prefix | Location) -> ArtifactStore:
        """The store of a bucket, or of a folder of this machine."""
        if place.scheme == "file":
            return FolderArtifactStore(Path(place.bucket))
        access = S3Access.read(self._environment, self._settings.s3_endpoint)
        remote = partial(S3ArtifactStore, place.bucket, access)
        if not self._settings.s3_folder:
            return remote()
        folder, otherwise = Path(self._settings.s3_folder), LazyArtifactStore(remote)
        if access.credentials_url:
            check = partial(check_readable, access)
            return PermittedFolderStore(folder, place.bucket, otherwise, check=check)
        return FolderArtifactStore(folder, place.bucket, otherwise)

    def _digested(self, store: ArtifactStore, prefix: Prefix) -> ArtifactStore:
        signed = None
        if key := self._settings.digest_key:
            from torpor_container.artifacts.list_signatures import check_signed, signing_key  # where one is asked for

            signed = partial(check_signed, signing_key(key))
        return digested(store, prefix.folder, self._settings, self.of, signed)


def _sharing(store: ArtifactStore, prefix: Prefix, settings: Settings, peers: "PeerTls | None") -> "NeighbourStore":
    # here: a zygote imports no more than every instance needs
    from torpor_container.artifacts.shared.kept_archives import KeptArchives
    from torpor_container.artifacts.shared.named_neighbours import NamedNeighbours
    from torpor_container.artifacts.shared.neighbour_store import NeighbourStore

    kept = KeptArchives(Path(settings.base_dir) / "shared", settings.neighbours_bytes)
    return NeighbourStore(store, NamedNeighbours(prefix, peers), kept)
