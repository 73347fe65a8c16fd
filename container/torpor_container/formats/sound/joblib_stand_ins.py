"""Reads what `joblib.dump` wrote with stand-ins: a pickle in which the bytes of each array follow the instructions that
say its type and shape. Python's own unpickler, which is seven times as quick as joblib's, reads the instructions. The
reader hands it the instructions before an array, reads the array's bytes, and hands it the instructions behind them.
"""

import zlib
from collections.abc import Sequence
from typing import Any, NoReturn
from weakref import proxy

from torpor_container.formats.sound.known_instructions import BEGINNINGS, InstructionRun, KnownInstructions
from torpor_container.formats.sound.pickle_stand_ins import (
    NDARRAY,
    TEXTS,
    CopiedBytes,
    Otherwise,
    PlainArray,
    StandInReader,
    Unchanging,
    size_of,
)

WRAPPER = ("joblib.numpy_pickle", "NumpyArrayWrapper")
SAID = {"subclass", "shape", "order", "dtype", "allow_mmap", "numpy_array_alignment_bytes"}
"""What an array's instructions say of it, since joblib 1.2."""
ALIGNMENT, PADDING = 16, b"\xff"
UNPACKED_MAX_BYTES = 16 * 1024 * 1024
TEXT_MAX_BYTES = 64 * 1024
"""The most that one text or number among the instructions has: all that is large in a forest is an array."""
_BUILD, _CALL = b"b", b")R"
_WINDOWS = {b"\x78": zlib.MAX_WBITS, b"\x1f\x8b": zlib.MAX_WBITS | 16}
"""By the beginning of a file that zlib compressed, or gzip, how it is unpacked."""
COMPRESSED = tuple(_WINDOWS)


def unpacked(content: bytes) -> bytes:
    """What joblib compressed by zlib or gzip; anything else as it is. Raises Otherwise if it is more than an instance
    reads at once, cut off, or followed by more; zlib.error."""
    for beginning, bits in _WINDOWS.items():
        if content.startswith(beginning):
            stream = zlib.decompressobj(bits)
            plain = stream.decompress(content, UNPACKED_MAX_BYTES)
            if not stream.eof or stream.unused_data:
                raise Otherwise
            return plain
    return content


class ArrayBehind(metaclass=Unchanging):
    """joblib's mark of an array. Once it knows type and shape, it is called, and the array takes its place: the mark
    itself remains where the pickle kept it for later, as with joblib."""

    __slots__ = ("array",)
    array: PlainArray | None
    reader: "DumpReader"

    def __setstate__(self, state: object) -> None:
        if hasattr(self, "array"):
            raise Otherwise
        self.array = self.reader.array(state)

    def __call__(self) -> PlainArray:
        array, self.array = self.array, None
        if array is None:
            raise Otherwise
        return array


class HandedInstructions:
    """Instructions as the file from which an unpickler reads them, without a copy of what it reads in one call."""

    def __init__(self, first: bytes, inner: bytes, last: bytes = b"") -> None:
        """`inner` is read as one frame, behind `first`, and `last` by itself."""
        head = first + b"\x95" + len(inner).to_bytes(8, "little")
        self.pieces = [piece for piece in (last, inner, head) if piece]
        self._next = 0

    def read(self, count: int) -> bytes:
        """Raises Otherwise if there are not so many bytes."""
        piece, after = self.pieces[-1] if self.pieces else b"", self._next + count
        if after > len(piece):
            raise Otherwise
        found, self._next = piece[self._next : after], after
        if after == len(piece):
            self.pieces.pop()
            self._next = 0
        return found

    def readline(self) -> NoReturn:
        """No known instruction has a line."""
        raise Otherwise


class DumpReader:
    """Reads a dump."""

    def __init__(self, content: bytes) -> None:
        self._content, self._known = content, KnownInstructions(content)
        self._copied = CopiedBytes(content)
        own = {"__slots__": (), "reader": proxy(self)}  # a class stays until garbage is collected: the content does not
        self._mark = Unchanging(WRAPPER[1], (ArrayBehind,), own)
        self._at, self._handed = 0, HandedInstructions(b"", b"")

    def load(self) -> object:
        """The object, also of a plain pickle. Raises Otherwise, UnknownInstructions, and whatever instructions
        raise."""
        run = self._known.run(len(BEGINNINGS[0]))
        if run.stops and run.end == len(self._content):
            return self._plain(BEGINNINGS[0], run)
        self._hand_out(BEGINNINGS[0], run)
        return _StandInUnpickler(self, self._copied, self._mark).load()

    def read(self, count: int) -> bytes:
        """The next bytes of instructions, for the unpickler. Raises Otherwise if there are not so many before the bytes
        of an array."""
        return self._handed.read(count)

    def readline(self) -> NoReturn:
        self._handed.readline()

    def array(self, state: Any) -> PlainArray:
        """The array behind the instructions that have been read. Raises Otherwise, UnknownInstructions."""
        if self._handed.pieces or type(state) is not dict or state.keys() != SAID:
            raise Otherwise
        aligned, kind, shape = state["numpy_array_alignment_bytes"], state["dtype"], state["shape"]
        if state["subclass"] is not NDARRAY or state["order"] != "C" or type(state["allow_mmap"]) is not bool:
            raise Otherwise
        if type(aligned) is not int or aligned != ALIGNMENT:
            raise Otherwise
        size = size_of(shape, kind)
        array = self._texts() if kind.code == TEXTS else self._numbers(size, shape, kind)
        self._hand_out(_CALL, self._known.run(self._at))
        return array

    def _numbers(self, size: int, shape: Any, kind: Any) -> PlainArray:
        [padding] = self._content[self._at : self._at + 1]
        begin = self._at + 1 + padding
        if not 1 <= padding <= ALIGNMENT or self._content[self._at + 1 : begin] != PADDING * padding:
            raise Otherwise
        self._at = begin + size
        array = PlainArray(self._copied)
        array.__setstate__((1, shape, kind, False, self._content[begin : self._at]))
        return array

    def _texts(self) -> PlainArray:
        """joblib writes an array of objects as a pickle of its own, and takes what that holds."""
        begin = self._at
        if not self._content.startswith(BEGINNINGS, begin):
            raise Otherwise
        run = self._known.run(begin + 2)
        array = self._plain(BEGINNINGS[1], run)
        if not run.stops or type(array) is not PlainArray or not hasattr(array, "content"):
            raise Otherwise
        self._at = run.end
        return array

    def _plain(self, first: bytes, run: InstructionRun) -> object:
        """What a whole pickle holds."""
        return StandInReader(HandedInstructions(first, self._bare(run.parts)), self._copied).load()

    def _bare(self, parts: Sequence[slice]) -> bytes:
        return b"".join([self._content[part] for part in parts])

    def _hand_out(self, first: bytes, run: InstructionRun) -> None:
        """Let the unpickler read these, as one frame, which it reads in one call. The last that is before an array's
        bytes comes by itself, so that it is known when that is done."""
        if run.longest > TEXT_MAX_BYTES:
            raise Otherwise
        last = b"" if run.stops else self._content[run.end - 1 : run.end]
        if run.end != len(self._content) if run.stops else last != _BUILD:
            raise Otherwise
        *parts, part = run.parts
        inner = self._bare([*parts, slice(part.start, part.stop - len(last))])
        self._at, self._handed = run.end, HandedInstructions(first, inner, last)


class _StandInUnpickler(StandInReader):
    def __init__(self, file: DumpReader, copied: CopiedBytes, mark: Any) -> None:
        super().__init__(file, copied)
        self._mark = mark

    def find_class(self, module: str, name: str) -> Any:
        return self._mark if (module, name) == WRAPPER else super().find_class(module, name)
