"""The chore that gives every instance a new certificate, again and again, while its old one still holds."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from torpor_container.transport.address import Address, GuardedAddress
from torpor_container.transport.peers.handing import hand_over
from torpor_container.transport.peers.peer_names import PeerRole
from torpor_endpoint.peers.authority_records import RENEWED_AFTER_S
from torpor_endpoint.peers.deployment_peers import DeploymentPeers

ROUND_S = RENEWED_AFTER_S / 3
"""So an instance that missed two rounds still has most of the time of its certificate."""
AT_ONCE_MAX = 16

log = logging.getLogger(__name__)


class HandingRounds:
    """`addresses` are those of the instances that run now. `hand` gives one of them its credential, and raises
    OSError."""

    def __init__(
        self,
        peers: DeploymentPeers,
        addresses: Callable[[], Iterable[Address | None]],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        hand: Callable[..., Awaitable[None]] = hand_over,
    ) -> None:
        self._peers = peers
        self._addresses = addresses
        self._pause = pause
        self._hand = hand

    async def run(self) -> None:
        """A round at once, and one every ROUND_S, until cancelled."""
        while True:
            await self.round()
            await self._pause(ROUND_S)

    async def round(self) -> int:
        """Renew the control's own certificate, and then those of all instances. How many did not take theirs."""
        await asyncio.to_thread(self._peers.renew_own)
        some = asyncio.Semaphore(AT_ONCE_MAX)
        certified = [one for one in self._addresses() if isinstance(one, GuardedAddress) and one.name]
        return sum(await asyncio.gather(*(self._renewed(one, some) for one in certified)))

    async def _renewed(self, address: GuardedAddress, some: asyncio.Semaphore) -> bool:
        """Whether it failed."""
        async with some:
            launch = address.name.partition(".")[0]
            try:
                await self._hand(address, await asyncio.to_thread(self._peers.issued, PeerRole.INSTANCE, launch))
            except OSError as error:
                log.warning("the instance at %s has not taken its new certificate: %s", address, error or "too slow")
                return True
            return False
