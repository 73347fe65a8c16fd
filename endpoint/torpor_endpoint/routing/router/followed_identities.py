"""A router's copy of who may call: it follows the control's, and asks for it again for a key that it does not know."""

import asyncio
import logging
from collections.abc import Callable

from torpor_account.iam.context import Iam
from torpor_account.iam.identities.directory import Directory
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_account.storage.tag_store import Tags
from torpor_endpoint.routing.protocol.identities import Identities
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient, ControlForbids
from torpor_endpoint.routing.router.following import WAIT_S, pause_s
from torpor_endpoint.storage.schema import RECORDS

UNKNOWN_PAUSE_S = 0.25
"""How often the control is asked again at most, whoever comes with unknown keys."""

log = logging.getLogger(__name__)


class FollowedIdentities:
    """`clock` gives epoch seconds. The first identities are there: `read` got them.

    `forbidden` says whether the control refuses to say who may call. What was known then must let nobody in any more.
    """

    def __init__(
        self, control: ControlClient, version: str, identities: Identities, account: str, clock: Callable[[], float]
    ) -> None:
        self.forbidden = False
        self._refusals = 0
        self._control = control
        self._version = version
        self._database = SqliteFile(":memory:", RECORDS)
        self.tags = Tags(self._database)
        identities.write(self._database)
        self.directory = Directory(Iam(self._database, self.tags, clock), account, identities.owner)
        self._applied = 0  # so many answers
        self._asked_s = -UNKNOWN_PAUSE_S
        self._asking = asyncio.Lock()

    async def run(self) -> None:
        """Follow for ever. While the control is away, the last identities hold; while it forbids to follow, none do."""
        tries = 0
        while True:
            try:
                await self._ask(WAIT_S)
                tries = 0
            except ControlAway:  # the follower of the table says it
                tries += 1
                await asyncio.sleep(pause_s(tries))

    async def look_again(self) -> None:
        """Somebody has come with a key that is not known here: it may be new."""
        async with self._asking:
            now_s = asyncio.get_running_loop().time()
            if now_s - self._asked_s < UNKNOWN_PAUSE_S:
                return
            self._asked_s = now_s
            try:
                while not await self._ask(0.0):
                    pass
            except ControlAway as error:
                log.debug("%s", error)

    async def _ask(self, within_s: float) -> bool:
        """Ask for identities that changed, and apply them. False if others were applied meanwhile: then the answer may
        be older than those, and does not count. Nor does one that was allowed before a refusal say anything about the
        time after it. Raises ControlAway."""
        before, refusals = self._applied, self._refusals
        try:
            found = await self._control.identities(self._version, within_s)
        except ControlForbids as error:
            self._refusals += 1
            if not self.forbidden:
                log.error("%s; this router admits nobody until its key may follow again", error)
            self.forbidden = True
            raise
        if refusals == self._refusals and self.forbidden:
            log.warning("the control says again who may call: this router admits callers")
            self.forbidden = False
        if self._applied != before:
            return False
        if found is not None:
            version, identities = found
            identities.write(self._database)
            self.directory.forget()
            self._version, self._applied = version, self._applied + 1
        return True
