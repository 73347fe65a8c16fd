"""Makes hosts of this machine for tests."""

from functools import partial
from pathlib import Path

from tests.helpers.zygotes import LIGHT
from torpor_container.processes.zygote_client import OwnedZygote
from torpor_endpoint.host.disks import Disks
from torpor_endpoint.host.local import LocalHost
from torpor_endpoint.host.warm_parent import WarmParent


def warm_parent(folder: Path, command: tuple[str, ...] = LIGHT) -> WarmParent:
    return WarmParent(folder, partial(OwnedZygote.start, command=command))


def local_host(folder: Path, disks: Path, parent: WarmParent) -> LocalHost:
    """A host whose sockets are in `folder`. The test closes it, and then the parent."""
    return LocalHost(folder, Disks(disks), parent)
