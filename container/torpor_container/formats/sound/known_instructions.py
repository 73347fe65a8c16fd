"""Tells of a pickle whether it has only instructions that are known here, and few of those that might do harm by their
number. It reads them one after the other, and does none.
"""

import re

BEGINNING = b"\x80\x04"
"""The instructions that Python writes by itself since 3.8."""
INSTRUCTIONS_MAX = 512 * 1024
"""The most bytes of instructions, without texts and arrays: each may take a hundred bytes of memory."""
TUPLES_MAX = 10_000
"""The most tuples. Python's hash of one that has tuples within tuples takes 80 bytes of the stack for each."""

_FIXED = re.compile(rb"(?:[\x81\x85-\x89\x93\x94()NR\]abestu}]++|[Kh].|M..|[Jj].{4}|G.{8})*+", re.DOTALL)
"""Instructions whose arguments have one length. None stores by a number, since a large one would take much memory."""
_LENGTHS = {0x8C: 1, ord("X"): 4, ord("C"): 1, ord("B"): 4, 0x8A: 1}
"""Of a text, bytes or a large number: how many bytes its length has."""
_TUPLES = (b"\x85", b"\x86", b"\x87", b"t")
_FRAME, _STOP = 0x95, ord(".")
_LARGE, _LARGE_BYTES_MAX = 0x8A, 16


def has_known_instructions(content: bytes) -> bool:
    """Whether it has only known instructions, of which none takes more memory than its bytes, up to the last byte."""
    at, size, fixed = len(BEGINNING), len(content), list[bytes]()
    while at < size:
        found = _FIXED.match(content, at)
        assert found is not None, "it matches nothing, too"
        fixed.append(found[0])
        if (at := found.end()) >= size:
            return False
        kind = content[at]
        if kind == _STOP:
            return at == size - 1 and _are_few(b"".join(fixed))
        length = 8 if kind == _FRAME else _LENGTHS.get(kind, 0)
        after = at + 1 + length
        told = int.from_bytes(content[at + 1 : after], "little")
        if not length or after + told > size or (kind == _LARGE and told > _LARGE_BYTES_MAX):
            return False
        at = after if kind == _FRAME else after + told
    return False


def _are_few(fixed: bytes) -> bool:
    return len(fixed) <= INSTRUCTIONS_MAX and sum(map(fixed.count, _TUPLES)) <= TUPLES_MAX
