"""Reads a file once, for its proof and its load: what is loaded was proved, whoever changes the file meanwhile."""

from collections.abc import Callable
from pathlib import Path

from torpor_container.formats.contents import HEAD_BYTES

SOUND_MAX_BYTES = 16 * 1024 * 1024
"""Larger contents are tried: to read their bytes takes long, and their memory should be known before."""

Contents = tuple[bytes, ...]
"""The bytes that were proved, of each file of a model, as its framework is to load them."""


def proved(path: Path, beginnings: tuple[bytes, ...], prove: Callable[[bytes], bytes | None]) -> Contents | None:
    """The contents of the one file, if it begins so and `prove` returns what is to be loaded of its bytes, or None.
    Raises OSError."""
    with open(path, "rb", buffering=0) as file:
        if not file.read(HEAD_BYTES).startswith(beginnings):
            return None
        file.seek(0)
        content = file.read(SOUND_MAX_BYTES + 1) or b""
        if len(content) > SOUND_MAX_BYTES:
            return None
    found = prove(content)
    return None if found is None else (found,)
