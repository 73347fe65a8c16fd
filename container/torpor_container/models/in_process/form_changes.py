"""Has loaded models go over to another form: a mapped one once it is made, their framework's own once they are hot.

No call waits for it: the former form answers until the other one is there.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from torpor_container.errors import ContainerError
from torpor_container.formats.format import NotMapped
from torpor_container.mapped.mapped_shares import MappedShares, is_hot
from torpor_container.models.loader import Loaded, NextForm
from torpor_container.models.tier import Tier

log = logging.getLogger(__name__)

BEHIND_S = 0.05
"""How long a change waits that nobody does: the answer to the request that loaded the model goes first."""


@dataclass
class Follow:
    """One loaded model that may change its form. `hits_before` are all calls of the instance before it was loaded."""

    form: NextForm
    hits_before: int
    change: "asyncio.Task[None] | None" = None


class FormChanges:
    """The models of one instance that may change their form."""

    def __init__(self, tier: Tier, shares: MappedShares, changed: Callable[[str], Awaitable[None]]) -> None:
        """`changed` measures what the instance uses, once a model has changed its form."""
        self._tier = tier
        self._shares = shares
        self._changed = changed
        self._followed: dict[str, Follow] = {}

    def follow(self, name: str, loaded: Loaded) -> None:
        """A model was loaded, or has changed its form."""
        self._followed.pop(name, None)
        if loaded.next_form is None:
            return
        self._followed[name] = Follow(loaded.next_form, self._tier.residency.hits)
        if not loaded.next_form.once_hot:
            self._begin(name)

    def gone(self, name: str) -> None:
        """The model leaves. A change that is in progress ends without effect."""
        followed = self._followed.pop(name, None)
        if followed is not None and followed.change is not None:
            followed.change.cancel()

    def look(self) -> None:
        """Begin the change of models that have become hot, if there is room without another model leaving."""
        residency = self._tier.residency
        for name, followed in self._followed.items():
            model = residency.get(name)
            if model is None or followed.change is not None or not followed.form.once_hot:
                continue
            hot = is_hot(model.hits, residency.hits - followed.hits_before)
            if hot and residency.has_room(followed.form.bytes_more):
                self._begin(name)

    async def close(self) -> None:
        changes = [followed.change for followed in self._followed.values() if followed.change is not None]
        for change in changes:
            change.cancel()
        await asyncio.gather(*changes, return_exceptions=True)

    async def settled(self) -> None:
        """Wait until the changes that have begun are over."""
        while changes := [one.change for one in self._followed.values() if one.change and not one.change.done()]:
            await asyncio.wait(changes)

    # -- inside ----------------------------------------------------------------------------------------------------
    def _begin(self, name: str) -> None:
        followed = self._followed[name]
        followed.change = asyncio.create_task(self._change(name, followed), name=f"change the form of {name}")
        followed.change.add_done_callback(_log_failure)

    async def _change(self, name: str, followed: Follow) -> None:
        if not followed.form.once_hot:
            await asyncio.sleep(BEHIND_S)
        try:
            loaded = await followed.form.load()
        except ContainerError as error:
            log.info("%s keeps its form: %s", name, error)
            return
        except NotMapped as why:
            model = self._tier.residency.get(name)
            if model is not None and self._followed.get(name) is followed:
                now_s = self._tier.clock()
                self._tier.residency.resized(name, model.size_bytes, now_s, str(why), "not-mapped")
            return
        if loaded is None or self._followed.get(name) is not followed:
            return
        size_bytes = self._shares.charged_bytes(name, loaded.size_bytes, loaded.mapped)
        reason = loaded.note or "it is hot: its weights are its own again"
        self._tier.residency.resized(name, size_bytes, self._tier.clock(), reason)
        self.follow(name, loaded)
        await self._changed(name)


def _log_failure(change: "asyncio.Task[None]") -> None:
    """Any other error is a fault of this package, and the model goes on in the form that it has."""
    if not change.cancelled() and (error := change.exception()) is not None:
        log.error("a model could not change its form", exc_info=error)
