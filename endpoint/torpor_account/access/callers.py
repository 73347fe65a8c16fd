"""Composes what knows callers: who signed, who is logged in, how often each may call, and the door around a gateway."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from torpor_account.access.denial_notes import DenialNotes
from torpor_account.access.door import AboutCallers, AccessDoor, CallsByHead
from torpor_account.access.login.login_face import LoginFace
from torpor_account.access.login.login_page import Look
from torpor_account.access.login.page_sessions import PageSessions
from torpor_account.access.page_callers import PageCallers, PageRight
from torpor_account.access.resource_tags import known_tags
from torpor_account.access.throttling import Throttle
from torpor_account.access.verifying import AccessClocks, Verifier
from torpor_account.aws.wire.asgi import App, Inline
from torpor_account.core.access.explaining.denial import Denial
from torpor_account.gateway import Gateway
from torpor_account.iam.identities.directory import Directory
from torpor_account.storage.denial_log import DenialLog

if TYPE_CHECKING:
    from torpor_account.account import Account


class Callers:
    """The callers of one account. `look` is how the pages of the login look, `further` the rights of others' pages."""

    def __init__(
        self,
        account: "Account",
        directory: Directory,
        denials: DenialLog,
        look: Look,
        further: Sequence[PageRight] = (),
    ) -> None:
        epoch = account.around.epoch
        tags = known_tags(account.tags.of)
        self.verifier = Verifier(directory, AccessClocks(time.time, epoch), account.number, account.region, tags)
        sessions = PageSessions(account.database, directory, epoch)
        directory.when_forgotten(sessions.end_stale)
        self.login = LoginFace(sessions, self.verifier, look, time.monotonic)
        self.throttle = Throttle(account.rates)
        self._pages = PageCallers(self.login, self.verifier, further)
        self._denials = denials
        self._denied = DenialNotes(self._keep_denial)

    async def _keep_denial(self, denied: Denial, request_id: str) -> None:
        await asyncio.to_thread(self._denials.add, denied, request_id)

    def door(
        self,
        gateway: Gateway,
        *,
        tokened: Mapping[str, App] = MappingProxyType({}),
        about_callers: AboutCallers | None = None,
        by_head: Mapping[str, CallsByHead] = MappingProxyType({}),
        inline: Inline | None = None,
    ) -> AccessDoor:
        """The door around the gateway. `AccessDoor` says what the arguments are."""
        return AccessDoor(
            gateway,
            self.verifier,
            self._pages,
            self._denied,
            self.throttle,
            tokened,
            about_callers,
            by_head,
            inline,
        )
