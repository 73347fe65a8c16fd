"""What routers say with a call of a model, or with the order to load one: which neighbours may have its artifact."""

import json
from collections import OrderedDict
from typing import NamedTuple

from torpor_container.artifacts.location import Prefix, name_of
from torpor_container.transport.address import Address, GuardedAddress
from torpor_container.transport.peers.peer_tls import PeerTls
from torpor_container.typed_json import UnreadableRecord, read
from torpor_container.wire import Neighbour

REMEMBERED_MAX = 256
"""The neighbours of so many models are remembered: those of models that are about to be loaded."""


class NeighboursPlace(NamedTuple):
    """Where a neighbour is. `ticket` lets one model's artifact be taken from it; empty where none is needed. With the
    name that is `certified` it speaks TLS, and `peers` has what this instance proves itself with."""

    at: str
    ticket: str
    certified: str = ""
    peers: PeerTls | None = None

    @property
    def address(self) -> Address:
        """A Unix socket's path, or a host and a port. Raises ValueError."""
        if self.at.startswith("/"):
            return self.at
        host, _, port = self.at.rpartition(":")
        if self.certified:
            return GuardedAddress(host.strip("[]"), int(port), b"", self.certified, self.peers)
        return host.strip("[]"), int(port)


class NeighboursOfModel(NamedTuple):
    """`target` is the model as a router spells it, for which the tickets are."""

    target: str
    places: tuple[NeighboursPlace, ...]


class NamedNeighbours:
    """What was said last of each model below a prefix, until its artifact is fetched."""

    def __init__(self, prefix: Prefix, peers: PeerTls | None = None) -> None:
        self.prefix = prefix
        self._peers = peers
        self._of: OrderedDict[str, NeighboursOfModel] = OrderedDict()  # by key

    def heard(self, target: str, text: str | bytes) -> None:
        """A router names neighbours, as JSON. What cannot be read names none: the artifact comes from S3 then. Raises
        TargetForbidden."""
        try:
            said = read(list[Neighbour], json.loads(text))
            places = tuple(
                NeighboursPlace(one["at"], one["ticket"], one.get("certified", ""), self._peers) for one in said
            )
            for place in places:
                _ = place.address  # raises ValueError for one that is no place
        except (UnreadableRecord, ValueError, RecursionError):
            return
        key = self.prefix.key_of(name_of(target))
        self._of[key] = NeighboursOfModel(target, places)
        self._of.move_to_end(key)
        if len(self._of) > REMEMBERED_MAX:
            self._of.popitem(last=False)

    def taken(self, key: str) -> NeighboursOfModel | None:
        """What was said of the model with this key, once."""
        return self._of.pop(key, None)
