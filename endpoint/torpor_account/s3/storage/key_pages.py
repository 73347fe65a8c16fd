"""Cuts keys in order into pages, and groups them by a delimiter. Pure; callers read the keys."""

from collections.abc import Callable, Iterator
from typing import Final, Generic, Protocol, TypeVar

from torpor_container.frozen_class import frozen

PAGE_MAX: Final = 1000


class Keyed(Protocol):
    @property
    def key(self) -> str: ...


Item = TypeVar("Item", bound=Keyed)


@frozen
class KeyQuery:
    """The keys of a page. `after` is the last key or common prefix of the page before."""

    prefix: str = ""
    delimiter: str = ""
    after: str = ""
    limit: int = PAGE_MAX

    @property
    def start(self) -> str:
        return max(self.prefix, self.after + "\0" if self.after else "")

    def group(self, key: str) -> str | None:
        """The common prefix that stands for `key`; None if none does."""
        end = key.find(self.delimiter, len(self.prefix)) if self.delimiter else -1
        return None if end < 0 else key[: end + len(self.delimiter)]


@frozen
class KeyPage(Generic[Item]):
    """One page in key order. `last` is its last key or common prefix, after which the next page begins."""

    items: tuple[Item, ...] = ()
    prefixes: tuple[str, ...] = ()
    truncated: bool = False
    last: str = ""

    @property
    def end(self) -> str | None:
        """The first key after this page; None if the page is the last."""
        if not self.truncated:
            return None
        return after_all(self.last) if self.last in self.prefixes else self.last + "\0"


def page(query: KeyQuery, read: Callable[[str], Iterator[Item]]) -> KeyPage[Item]:
    """One page. `read` yields the items from a key on, in order and lazily: keys below a common prefix are skipped."""
    found: list[tuple[str, Item | None]] = []
    start: str | None = query.start if query.limit else None
    while start is not None:
        here, start = start, None
        for item in read(here):
            if not item.key.startswith(query.prefix):
                break
            if len(found) == query.limit:
                return _page(found, truncated=True)
            group = query.group(item.key)
            if group is None:
                found.append((item.key, item))
                continue
            if group > query.after:
                found.append((group, None))
            start = after_all(group)
            break
    return _page(found, truncated=False)


def after_all(prefix: str) -> str | None:
    """The first possible key after all keys that begin with `prefix`; None if there can be none."""
    stem = prefix.rstrip("\U0010ffff")
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(0xE000 if following == 0xD800 else following)  # no key holds a lone surrogate


def _page(found: list[tuple[str, Item | None]], truncated: bool) -> KeyPage[Item]:
    return KeyPage(
        items=tuple(item for _, item in found if item is not None),
        prefixes=tuple(name for name, item in found if item is None),
        truncated=truncated,
        last=found[-1][0] if found else "",
    )
