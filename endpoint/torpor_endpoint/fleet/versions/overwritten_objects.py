"""Has instances bring models up to date whose objects the embedded S3 has overwritten, where TORPOR_UPDATE says so.

The instances do the work (`models.updating.beside_updates`): each loads the newer version beside the older one, and
switches.
"""

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from torpor_account.log_lines import about
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.settling import Settling

if TYPE_CHECKING:
    from torpor_endpoint.fleet.retiring import ModelPlace

RETRY_S = 60.0
"""How long an object is left alone whose model could not be brought up to date."""

log = logging.getLogger(__name__)


class OverwrittenObjects:
    """Any thread may call `told`; everything else runs on the event loop."""

    def __init__(self, roster: FleetRoster) -> None:
        self._roster = roster
        self._settling = Settling(self._settle, "the models of")
        self._retries: dict[str, asyncio.TimerHandle] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Take events from now on."""
        self._loop = asyncio.get_running_loop()
        self._settling.start()

    def told(self, bucket: str, key: str, there: bool) -> None:
        """See `s3.storage.objects.ObjectChanged`. A model whose object is deleted goes on answering, as on AWS."""
        if there and (loop := self._loop) is not None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(self._written, f"s3://{bucket}/{key}")

    async def close(self) -> None:
        """Stop the updates that are under way. Instances end theirs by themselves."""
        self._loop = None
        for retry in self._retries.values():
            retry.cancel()
        await self._settling.close()

    def _written(self, url: str) -> None:
        if self._places(url):
            self._settling.schedule(url)

    def _places(self, url: str) -> "list[ModelPlace]":
        from torpor_endpoint.fleet.retiring import BESIDE, places_of

        return [
            place for live in self._roster for place in places_of(live, {url}) if place.pool.settings.update == BESIDE
        ]

    async def _settle(self, url: str) -> None:
        if (retry := self._retries.pop(url, None)) is not None:
            retry.cancel()
        results = await asyncio.gather(*map(self._updated, self._places(url)))
        if not all(results) and (loop := self._loop) is not None:
            self._retries[url] = loop.call_later(RETRY_S, self._written, url)

    async def _updated(self, place: "ModelPlace") -> bool:
        """Whether the instance is up to date."""
        from starlette.exceptions import HTTPException

        from torpor_endpoint.fleet.retiring import updated

        try:
            await updated(place)
        except HTTPException as error:
            text = "the newer version of %s cannot take over yet, and the older one goes on answering: %s"
            fields = about(endpoint=place.pool.endpoint, variant=place.pool.variant.name)
            log.warning(text, place.target, error.detail, extra=fields)
            return False
        return True
