"""Reads a large JSON document member by member, so that only one small member at a time is in memory."""

import json
from collections.abc import Iterator
from typing import Any, TextIO

CHUNK = 1 << 20
"""Characters that are read at once."""
LONGEST = 32 << 20
"""The most characters of one value."""
_SPACE = " \t\r\n"


class CutShort(ValueError):
    """The document ends before its end."""


class JsonStream:
    """A document that is an object. Whoever takes a name from `members` takes its value next: by `value`, or, if that
    is an object, by `members`. Raises ValueError for what is not JSON, and CutShort."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._ended = False
        self._decode = json.JSONDecoder().raw_decode

    def members(self) -> Iterator[str]:
        """The names of the object that is next, in order. None of them is kept."""
        self._take("{")
        if self._next() == "}":
            self._at += 1
            return
        while True:
            name = self.value()
            if not isinstance(name, str):
                raise ValueError(f"a member's name is text, not {name!r}")
            self._take(":")
            yield name
            if self._next() == "}":
                self._at += 1
                return
            self._take(",")

    def items(self) -> Iterator[int]:
        """The numbers of the items of the list that is next. Whoever takes a number takes the item next."""
        self._take("[")
        if self._next() == "]":
            self._at += 1
            return
        number = 0
        while True:
            yield number
            number += 1
            if self._next() == "]":
                self._at += 1
                return
            self._take(",")

    def value(self) -> Any:
        """The value that is next, as a whole."""
        self._next()
        while True:
            try:
                found, at = self._decode(self._text, self._at)
            except ValueError:
                if len(self._text) - self._at > LONGEST:
                    raise ValueError(f"a value has more than {LONGEST:,} characters") from None
                if self._more():
                    continue
                if self._text.rstrip().endswith("}"):
                    raise
                raise CutShort("the document ends before its end") from None
            if at == len(self._text) and self._more():  # a number may go on
                continue
            self._at = at
            return found

    def end(self) -> None:
        """Raises ValueError if something follows the document."""
        while self._at < len(self._text) or self._more():
            rest = self._text[self._at :].strip()
            if rest:
                raise ValueError("something follows the end of the document")
            self._at = len(self._text)

    # -- inside ------------------------------------------------------------------------------------------------------
    def _next(self) -> str:
        """The next character that is no space."""
        while True:
            while self._at < len(self._text):
                found = self._text[self._at]
                if found not in _SPACE:
                    return found
                self._at += 1
            if not self._more():
                raise CutShort("the document ends before its end")

    def _take(self, wanted: str) -> None:
        found = self._next()
        if found != wanted:
            raise ValueError(f"{wanted!r} is expected, and not {found!r}")
        self._at += 1

    def _more(self) -> bool:
        """Read on, and drop what was used: whether there was more."""
        if self._ended:
            return False
        read = self._file.read(CHUNK)
        self._ended = not read
        self._text, self._at = self._text[self._at :] + read, 0
        return bool(read)
