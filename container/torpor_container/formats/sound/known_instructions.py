"""Tells of a pickle whether it has only instructions that are known here, and few of those that might do harm by their
number. It reads them one after the other, and does none.
"""

import re
from typing import NamedTuple

BEGINNINGS = (b"\x80\x04", b"\x80\x05")
"""The instructions that Python writes by itself since 3.8, and those of numpy's arrays of texts within joblib's."""
INSTRUCTIONS_MAX = 512 * 1024
"""The most bytes of instructions, without what texts and arrays hold: each may take a hundred bytes of memory."""
TUPLES_MAX = 10_000
"""The most tuples. Python's hash of one that has tuples within tuples takes 80 bytes of the stack for each."""

ALONE = rb"\x81\x85-\x89\x93\x94()NR\]abestu}"
"""Instructions without an argument, as the inside of a class of a pattern."""
WITH_ARGUMENT = rb"[Kh].|M..|[Jj].{4}|G.{8}"
"""Those whose argument has one length. None stores by a number, since a large one would take much memory."""
_FIXED = re.compile(rb"(?:[" + ALONE + rb"]++|" + WITH_ARGUMENT + rb")*+", re.DOTALL)
_LENGTHS = {0x8C: 1, ord("X"): 4, ord("C"): 1, ord("B"): 4, 0x8A: 1}
"""Of a text, bytes or a large number: how many bytes its length has."""
_TUPLES = (b"\x85", b"\x86", b"\x87", b"t")
_FRAME, _STOP = 0x95, ord(".")
_LARGE, _LARGE_BYTES_MAX = 0x8A, 8


class UnknownInstructions(Exception):
    """There is something that is not known here, or too much of what is known."""


class InstructionRun(NamedTuple):
    """Known instructions one behind the other, up to the last, or up to what is none."""

    end: int
    """Of its bytes."""
    stops: bool
    """Whether its last instruction ends the pickle."""
    longest: int
    """How many bytes its longest text or number has."""
    parts: tuple[slice, ...]
    """Its instructions without those that begin a frame, which change nothing but how a file is read."""


class KnownInstructions:
    """Reads the instructions of one content, and counts those of all runs."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._bytes = self._tuples = 0

    def run(self, at: int) -> InstructionRun:
        """The run that begins there. Raises UnknownInstructions if a text or a frame goes beyond the end, if a frame
        begins within another or ends within an instruction, or if there are too many instructions."""
        content, size, fixed, begin = self._content, len(self._content), list[bytes](), at
        parts, framed, longest = list[slice](), at, 0
        while at < size:
            limit = framed if at < framed else size
            found = _FIXED.match(content, at, limit)
            assert found is not None, "it matches nothing, too"
            fixed.append(found[0])
            if (at := found.end()) == limit:
                continue
            if (kind := content[at]) == _STOP:
                break
            length = 8 if kind == _FRAME else _LENGTHS.get(kind, 0)
            if not length:
                break
            fixed.append(content[at : at + 1])
            after = at + 1 + length
            told = int.from_bytes(content[at + 1 : after], "little")
            if after + told > limit or (kind == _LARGE and told > _LARGE_BYTES_MAX):
                raise UnknownInstructions
            if kind == _FRAME:
                if at < framed:
                    raise UnknownInstructions  # Python's unpickler would leave out what is left of the first
                parts.append(slice(begin, at))
                begin, framed = after, after + told
                at = after
            else:
                at, longest = after + told, max(longest, told)
        stops = content[at : at + 1] == b"."
        end = at + stops
        if framed > end:
            raise UnknownInstructions  # joblib reads an array behind the frame, and not behind these instructions
        self._count(b"".join(fixed))
        return InstructionRun(end, stops, longest, (*parts, slice(begin, end)))

    def _count(self, fixed: bytes) -> None:
        self._bytes += len(fixed)
        self._tuples += sum(map(fixed.count, _TUPLES))
        if self._bytes > INSTRUCTIONS_MAX or self._tuples > TUPLES_MAX:
            raise UnknownInstructions
