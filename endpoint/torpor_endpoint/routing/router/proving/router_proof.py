"""What a router proves itself with to instances: it makes a key, and has the control certify it again and again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from torpor_account.core.outages.waiting import pause_s
from torpor_endpoint.peers.authority_records import is_due
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient, ControlRefused

LOOK_S = 10.0
"""How often it is looked whether a new one is due. The control is asked only then."""
REFUSED_S = 60.0
"""The pause after a refusal, which takes a person to change."""

log = logging.getLogger(__name__)


class RouterProof:
    """The certificate of the router with this name. `epoch` gives seconds since 1970. `secures`: the control is called
    by TLS with it."""

    def __init__(
        self,
        router: str,
        control: ControlClient,
        epoch: Callable[[], float],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        *,
        secures: bool = False,
    ) -> None:
        self._router = router
        self._control = control
        self._epoch = epoch
        self._pause = pause
        self._secures = secures

    async def run(self) -> None:
        """Have a certificate for ever. A refusal is logged once."""
        tries, told = 0, ""
        while True:
            try:
                await self.look()
            except ControlRefused as error:
                if str(error) != told:
                    told = str(error)
                    log.error("this router gets no certificate, and asks again every %.0f s: %s", REFUSED_S, error)
                await self._pause(REFUSED_S)
            except ControlAway as error:
                tries += 1
                log.debug("no certificate yet: %s", error)
                await self._pause(pause_s(tries))
            else:
                tries, told = 0, ""
                await self._pause(LOOK_S)

    async def look(self) -> bool:
        """Get a new certificate if it is time, or if the control has another authority. Whether there is one. Raises
        ControlAway."""
        peers = self._control.peers
        if peers.has_one and not self._control.distrusted and not is_due(peers.credential.ends_s, self._epoch()):
            return False
        from torpor_endpoint.peers.peer_authority import new_key  # it needs megabytes

        private, public = new_key()
        found = await self._control.certificate(self._router, public)
        peers.take(replace(found, own=private + found.own))
        if self._secures:
            self._control.secure()
        return True
