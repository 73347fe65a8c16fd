"""Finds versions of models among the keys below a prefix: `name/<number>/artifact`. It reads no store.

It is the layout of TensorFlow Serving (`<base>/<integer>/…`) and of Triton, whose folders that are no number, or begin
with `0`, are no versions. A version is one object: SageMaker's endpoints of many models take archives.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from torpor_endpoint.core.versions.version_answers import MARK

VERSIONED: Final = re.compile(r"(.+)/([1-9][0-9]{0,17})/([^/]+)", re.DOTALL)


class VersionLayout:
    """The names below one prefix that have versions. Keys are those below the prefix, without it.

    Its size is that of the names with versions: of other keys it keeps those alone that clash with such a name.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._objects: dict[str, dict[int, set[str]]] = {}  # by name, by version
        self._clashing: set[str] = set()
        plain = [key for key in keys if self._added(key) is None]
        self._clashing |= {key for key in plain if self._named(key) is not None}

    def add(self, key: str) -> str | None:
        """There is an object of this key now. Returns the name that it changes; None if it changes none. A plain key
        that could be meant by a new name, and came before it, is seen by a listing alone."""
        name = self._added(key)
        if name is None and (name := self._named(key)) is not None:
            self._clashing.add(key)
        return name

    def remove(self, key: str) -> str | None:
        """The object is gone. Returns the name that this changes; None if it changes none."""
        if key in self._clashing:
            self._clashing.discard(key)
            return self._named(key)
        found = VERSIONED.fullmatch(key)
        if found is None:
            return None
        name, number = found[1], int(found[2])
        versions = self._objects.get(name, {})
        if key not in versions.get(number, ()):
            return None
        versions[number].discard(key)
        if not versions[number]:
            del versions[number]
        if not versions:
            del self._objects[name]
        return name

    def versions_of(self, name: str) -> Mapping[int, str]:
        """The artifact of each version that is one object. A folder with several is no version: `fault_of` says so."""
        versions = self._objects.get(name, {})
        return {number: next(iter(keys)) for number, keys in versions.items() if len(keys) == 1}

    def fault_of(self, name: str) -> str:
        """Why the name is not clear; empty if it is."""
        clashing = sorted(key for key in self._clashing if self._named(key) == name)
        if clashing:
            return (
                f"{clashing[0]!r} is the key of an object, and {name!r} is a folder of versions: "
                "give one of them another key"
            )
        if MARK in name and (other := name.rpartition(MARK)[0]) in self._objects:
            return f"it is the name of a folder of versions, and could be a version of {other!r}: rename the folder"
        crowded = self.crowded(name)
        if crowded and not self.versions_of(name):
            return f"the folder {name}/{crowded[0]}/ has several objects: a version is one artifact"
        return ""

    def crowded(self, name: str) -> list[int]:
        """The numbers whose folders have several objects, and so are no versions."""
        return sorted(number for number, keys in self._objects.get(name, {}).items() if len(keys) > 1)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._objects))

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, name: object) -> bool:
        return name in self._objects

    def _added(self, key: str) -> str | None:
        """The name of a version's artifact; None for any other key."""
        found = VERSIONED.fullmatch(key)
        if found is None:
            return None
        self._objects.setdefault(found[1], {}).setdefault(int(found[2]), set()).add(key)
        return found[1]

    def _named(self, key: str) -> str | None:
        """The name with versions that a plain key could be taken for."""
        return next((name for name in (key, key.rpartition(MARK)[0]) if name in self._objects), None)
