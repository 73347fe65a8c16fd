"""The models of a container that loads what is in its own folder (`{models_dir}` in its command).

Each model is linked into the folder before its load, by its TargetModel without the archive's ending, and taken out
once it has left.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from pathlib import Path

from torpor_container.core.near_names import SUFFIXES
from torpor_container.errors import LoadFailed, NoMemoryNow
from torpor_container.processes.threads import on_thread
from torpor_container.transport.upstream_answers import UpstreamError


class LinkedModels:
    """Their names in the folder, by the platform's opaque model id."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[str, str] = {}
        self._background: set[asyncio.Future[None]] = set()

    def get(self, model_id: str) -> str | None:
        """The name of a model that is loaded, or is being loaded."""
        return self._names.get(model_id)

    def name(self, model_id: str, target: str) -> str:
        """The same, or the name that the model would have. Raises LoadFailed."""
        return self._names.get(model_id) or repository_name(target)

    def among(self, names: Collection[str]) -> set[str]:
        """The ids of the models with these names."""
        return {model_id for model_id, name in self._names.items() if name in names}

    async def load(
        self,
        model_id: str,
        url: str,
        target: str,
        load: Callable[[str], Awaitable[object]],
        unload: Callable[[str, str], Awaitable[object]],
    ) -> None:
        """Link the model, and `load` it by its name. If the caller is cancelled, `unload` it again. Raises LoadFailed,
        NoMemoryNow."""
        name = repository_name(target)
        if name in self._names.values():
            raise LoadFailed(
                f"the container has a model called {name} already: two targets differ in their ending only"
            )
        self._names[model_id] = name
        try:
            await on_thread(self._link, name, url)
            await load(name)
        except (OSError, UpstreamError, ValueError) as error:
            await self.forget(model_id)
            raise LoadFailed(f"the container did not load the model: {error}") from error
        except (LoadFailed, NoMemoryNow):
            await self.forget(model_id)
            raise
        except asyncio.CancelledError:
            self._background.add(clearing := asyncio.ensure_future(self._cleared(model_id, target, unload)))
            clearing.add_done_callback(self._background.discard)
            raise

    async def forget(self, model_id: str) -> None:
        """Take a model that has left out of the folder."""
        name = self._names.pop(model_id, None)
        if name is not None:
            await on_thread((self._folder / name).unlink, True)

    async def _cleared(self, model_id: str, target: str, unload: Callable[[str, str], Awaitable[object]]) -> None:
        """Unload what a load may have left whose caller is gone."""
        with suppress(UpstreamError, LoadFailed):
            await unload(model_id, target)
        await self.forget(model_id)

    def _link(self, name: str, url: str) -> None:
        place = self._folder / name
        place.unlink(missing_ok=True)
        place.symlink_to(url, target_is_directory=True)


def repository_name(target: str) -> str:
    """The name of a model in the container's folder. Raises LoadFailed for a target that is no name of a folder."""
    name = next((target.removesuffix(ending) for ending in SUFFIXES if target.endswith(ending)), target)
    if "/" in name or name in ("", ".", ".."):
        raise LoadFailed(
            f"this container has its models side by side in one folder, and {target} has a folder of its own"
        )
    return name
