"""Writes S3's XML: elements and escapes. It knows no operation."""

import re
from typing import Final

NAMESPACE: Final = "http://s3.amazonaws.com/doc/2006-03-01/"

PROLOG: Final = b'<?xml version="1.0" encoding="UTF-8"?>\n'

_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_SPECIAL: Final = re.compile(r'[&<>"\x00-\x08\x0b-\x1f\x7f]')


def text(name: str, value: object) -> str:
    """An element with a text; empty for None, since strict clients fail on empty optional members."""
    return "" if value is None else f"<{name}>{_SPECIAL.sub(_escaped, str(value))}</{name}>"


def flag(name: str, value: bool) -> str:
    return f"<{name}>{'true' if value else 'false'}</{name}>"


def node(name: str, *children: str) -> str:
    return f"<{name}>{''.join(children)}</{name}>"


def document(name: str, *children: str, namespace: str | None = NAMESPACE) -> bytes:
    """A whole document. Only S3's errors have no namespace."""
    opening = name if namespace is None else f'{name} xmlns="{namespace}"'
    return PROLOG + f"<{opening}>{''.join(children)}</{name}>".encode()


def _escaped(match: re.Match[str]) -> str:
    """The character as a reference. AWS writes control characters so too, although XML 1.0 forbids them."""
    char = match.group()
    return _ESCAPES.get(char, f"&#x{ord(char):x};")
