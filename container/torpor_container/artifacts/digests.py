"""Lets through only artifacts that a list of digests names, in the form of `sha256sum`: `<64 hex digits>  <name>`.

The list may have to be signed (`list_signatures`).
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from torpor_container.artifacts.errors import ArtifactInvalid, ArtifactMissing
from torpor_container.artifacts.location import Location
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, ArtifactStore, Listed
from torpor_container.processes.threads import on_thread
from torpor_container.settings import ARTIFACTS_OWN, BadSetting, Settings

LIST = "SHA256SUMS"
"""The list's name, where it lies beside the artifacts."""
LIST_MAX_BYTES = 32 * 1024 * 1024
SUFFIX = ".minisig"
"""What is added to the list's key for that of its signature."""
SIGNATURE_MAX_BYTES = 16 * 1024
LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
MARK = "-sha256-"
SIGN = "Sign it again by `minisign -S`, and upload list and signature"
REMEDY = "Upload the artifact that the list names, or a list that has this one"


def plain(version: str) -> str:
    """A version as the store itself names it, without the digest that a list wants."""
    return version.rpartition(MARK)[0] if MARK in version else version


CheckSigned = Callable[[bytes, str], None]
"""Takes a list and the text of its signature. Raises UnsignedList."""


class UnreadableList(ValueError):
    """A list of digests has a line that is none. The message has its number."""


class UnsignedList(ValueError):
    """The list is not signed by the key that it should be. The message says why, and names the key."""


def digests(text: str) -> dict[str, str]:
    """The digest of each name. Empty lines and those that begin with `#` are ignored. Raises UnreadableList."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            match = LINE.fullmatch(line)
            if match is None:
                raise UnreadableList(f"line {number} is no digest and name, as `sha256sum` writes them")
            found[match[2].removeprefix("./")] = match[1].lower()
    return found


class DigestedStore:
    """A store of which only objects with the digests of a list can be read. It reads nothing in place.

    `folder` is what comes before a name of the list in a key. `lists` is the store of the list, whose key is `key`.
    With `signed`, the list counts only if that raises nothing. A version contains its digest: an object whose
    digest changes in the list is fetched again.
    """

    def __init__(
        self, store: ArtifactStore, folder: str, lists: ArtifactStore, key: str, signed: CheckSigned | None = None
    ) -> None:
        self._store = store
        self._folder = folder
        self._lists = lists
        self._key = key
        self._signed = signed
        self._known: tuple[str, Mapping[str, str]] = ("", {})  # the version of the list, and what is in it

    async def head(self, key: str) -> ArtifactHead:
        """As the store's, without a file. Raises ArtifactInvalid too, for an object that is not in the list."""
        head = await self._store.head(key)
        return replace(head, version=f"{head.version}{MARK}{await self._digest(key)}", file=None)

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        """As the store's. Raises ArtifactInvalid too, for an object with another digest."""
        version, _, expected = head.version.rpartition(MARK)
        await self._store.get(key, replace(head, version=version), into)
        found = await on_thread(_digest_of, into)
        if found != expected:
            await on_thread(into.unlink)
            raise ArtifactInvalid(key, f"its SHA-256 is {found}, and {self._key} says {expected}", REMEDY)

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        return await self._store.listed(prefix, at_most)

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        return await self._store.some_keys(folder, at_most)

    async def _digest(self, key: str) -> str:
        try:
            known = await self._newest()
        except ArtifactMissing:
            raise ArtifactInvalid(key, f"there is no list of digests, {self._key}", "Upload one") from None
        except UnreadableList as error:
            raise ArtifactInvalid(key, f"the list of digests {self._key} cannot be read: {error}", "Mend it") from None
        except UnsignedList as error:
            raise ArtifactInvalid(key, f"the list of digests {self._key}: {error}", SIGN) from None
        name = key.removeprefix(self._folder)
        if name not in known:
            raise ArtifactInvalid(key, f"it is not in the list of digests {self._key}", REMEDY)
        return known[name]

    async def _newest(self) -> Mapping[str, str]:
        """The list as it is now. Raises UnreadableList, UnsignedList, and the store's errors."""
        head = await self._lists.head(self._key)
        if head.version != self._known[0]:
            content = await self._content(self._key, head, LIST_MAX_BYTES)
            if self._signed is not None:
                self._signed(content, await self._signature())
            self._known = (head.version, digests(content.decode(errors="replace")))
        return self._known[1]

    async def _signature(self) -> str:
        key = self._key + SUFFIX
        try:
            head = await self._lists.head(key)
            return (await self._content(key, head, SIGNATURE_MAX_BYTES)).decode(errors="surrogateescape")
        except (ArtifactMissing, UnreadableList):
            raise UnsignedList(f"it has no signature {key} by minisign") from None

    async def _content(self, key: str, head: ArtifactHead, most: int) -> bytes:
        """Raises UnreadableList, and the store's errors."""
        if head.size_bytes > most:
            raise UnreadableList(f"it has {head.size_bytes} bytes, and {most} is the limit")
        with TemporaryDirectory(prefix="torpor-digests-") as folder:
            await self._lists.get(key, head, path := Path(folder, LIST))
            return await on_thread(path.read_bytes)


def digested(
    store: ArtifactStore,
    folder: str,
    settings: Settings,
    make_store: Callable[[Location], ArtifactStore],
    signed: CheckSigned | None,
) -> ArtifactStore:
    """The store, or what a list of digests lets through of it, where the settings require one. `folder` is the prefix
    of the artifacts."""
    if settings.digest_list:
        place = Location.parse(settings.digest_list)
        return DigestedStore(store, folder, make_store(place), place.key, signed)
    if settings.require_digests or signed is not None:
        return DigestedStore(store, folder, store, folder + LIST, signed)
    return store


def ensure_digests(settings: Settings) -> None:
    """Raises BadSetting where digests are required and something could come without one, or their signature could not
    be checked."""
    if not (settings.require_digests or settings.digest_list or settings.digest_key):
        return
    if settings.digest_key and find_spec("cryptography") is None:
        raise BadSetting("TORPOR_DIGEST_KEY needs the package cryptography: pip install 'torpor[tls]'")
    if not settings.model_source:
        raise BadSetting("TORPOR_REQUIRE_DIGESTS needs TORPOR_MODEL_SOURCE: digests are of artifacts that are fetched")
    if settings.submit_directory not in ("", *ARTIFACTS_OWN):
        raise BadSetting(
            "SAGEMAKER_SUBMIT_DIRECTORY names a script that no list of digests has, and digests are required: put the "
            "script into each artifact"
        )


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
