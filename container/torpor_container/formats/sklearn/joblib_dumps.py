"""Reads what `joblib.dump` wrote, without compression, by Python's own unpickler.

joblib puts the bytes of each array behind the instructions that say its type and shape, and reads such a file by an
unpickler in Python, which takes ten times as long. Here a mark stands in for the array: as soon as its instructions are
done it reads the bytes, and the unpickler is handed two instructions more, which put the array in the mark's place.
"""

import io
import pickle
import re
from inspect import signature
from io import BufferedReader
from math import prod
from typing import Any
from weakref import proxy

import numpy as np
from joblib.numpy_pickle import NumpyArrayWrapper

from torpor_container.formats.sound.known_instructions import ALONE, BEGINNINGS, WITH_ARGUMENT

ARRAY_MARK, OLD_ARRAY_MARK = b"NumpyArrayWrapper", b"NDArrayWrapper"
"""The classes of marks; before joblib 0.10 arrays were in files of their own."""
_BUILD, _FRAME, _CALL = b"b", b"\x95", (b"R", b")")
_COUNTED = b"|".join(re.escape(bytes([count])) + b".{%d}" % count for count in range(64))
_ALONE = ALONE + rb"\x8f-\x92012dlo"
"""Also those that make sets, call by keywords, and were written before Python 3.8: no proof reads them."""
_INSTRUCTIONS = re.compile(
    rb"(?:[" + _ALONE + rb"]++|[\x8cC\x8a](?:" + _COUNTED + rb")|" + WITH_ARGUMENT + rb")*+", re.DOTALL
)
"""Whole instructions of a pickle, none of which begins a frame: those that Python writes, with short texts."""
_NATIVE = (True,) if len(signature(NumpyArrayWrapper.read).parameters) > 2 else ()
"""What joblib takes since 1.5: that arrays get the processor's order of bytes, as they always did before."""


def is_read(content: Any) -> bool:
    """Whether a file with these bytes, of at least two, can be read here."""
    return content[:2] in BEGINNINGS and content.find(ARRAY_MARK) >= 0 and content.find(OLD_ARRAY_MARK) < 0


def load(file: BufferedReader | io.BytesIO) -> Any:
    """The object that joblib would load from the file. Raises what unpickling raises, and UnpicklingError for an array
    that is not behind a frame."""
    return _DumpUnpickler(_Instructions(file)).load()


class _Instructions:
    """The file as the unpickler reads it. joblib's `read` takes it for its unpickler.

    The unpickler in C reads a whole frame at once, and goes on in what it has read, whatever lies behind an array's
    mark. So it is handed the last instruction of a frame by itself, and each one of a frame whose instructions are not
    known: where an array begins, it has nothing left.
    """

    np, mmap_mode, filename = np, None, ""

    def __init__(self, file: BufferedReader | io.BytesIO) -> None:
        self.file_handle = file
        self._last = b""
        self._ready: list[bytes] = []
        self._framed = 0

    def read(self, count: int) -> bytes:
        """The next bytes."""
        if self._ready:
            self._last = self._ready.pop()
            return self._last
        begins_frame = count == 8 and self._last == _FRAME  # no argument of eight bytes is read behind one of one byte
        self._last = self.file_handle.read(count)
        return self._frame(self._last) if begins_frame else self._last

    def _frame(self, length: bytes) -> bytes:
        """How many bytes of the frame the unpickler is to read at once, for the length in the file."""
        size, at = int.from_bytes(length, "little"), self.file_handle.tell()
        if at - len(_FRAME + length) < self._framed:
            raise pickle.UnpicklingError("a frame of the pickle begins within another")
        self._framed = at + size
        frame = self.file_handle.read(size)
        if len(frame) < size:
            raise EOFError("the file ends within a frame of the pickle")
        known, last = frame[:-1], frame[-1:]
        if not known or not _INSTRUCTIONS.fullmatch(known):
            self.file_handle.seek(at)
            return bytes(len(length))
        self._ready = [last, known]
        return len(known).to_bytes(len(length), "little")

    def readinto(self, buffer: Any) -> int:
        """Bytes, where no frame is read at once, to the place where they stay: a second copy may find no room."""
        self._last = b""
        return self.file_handle.readinto(buffer)

    def readline(self) -> bytes:
        return self.file_handle.readline()

    def find_class(self, module: str, name: str) -> Any:
        return pickle.Unpickler(io.BytesIO()).find_class(module, name)

    def array(self, mark: NumpyArrayWrapper) -> Any:
        """The array behind the instructions that have been read."""
        if self._last != _BUILD or self._ready or self.file_handle.tell() < self._framed:
            raise pickle.UnpicklingError("an array does not begin where a frame of the pickle ends")
        array = self._plain(mark) if _is_plain(mark) else mark.read(self, *_NATIVE)
        self._ready = [*_CALL]
        return array

    def _plain(self, mark: NumpyArrayWrapper) -> Any:
        """As joblib reads it, at once."""
        if getattr(mark, "numpy_array_alignment_bytes", None) is not None:
            length = self.file_handle.read(1)
            if not length:
                raise EOFError("the file ends before an array")
            self.file_handle.read(length[0])
        array = np.empty(prod(mark.shape), mark.dtype)
        if self.file_handle.readinto(array.view(np.uint8).data) < array.nbytes:
            raise EOFError("the file ends within an array")
        return array.reshape(mark.shape[::-1]).transpose() if mark.order == "F" else array.reshape(mark.shape)


def _is_plain(mark: NumpyArrayWrapper) -> bool:
    dtype = mark.dtype
    return mark.subclass is np.ndarray and not dtype.hasobject and dtype.itemsize > 0 and dtype.isnative


class _DumpUnpickler(pickle.Unpickler):
    def __init__(self, instructions: _Instructions) -> None:
        super().__init__(instructions)
        read_from = proxy(instructions)  # the class stays until garbage is collected: the file does not

        class ArrayMark(NumpyArrayWrapper):  # type: ignore[misc]  # joblib has no types
            """Its array is read as soon as it knows type and shape; a call returns it."""

            def __setstate__(self, state: dict[str, Any]) -> None:
                self.__dict__.update(state)
                self.array = read_from.array(self)

            def __call__(self) -> Any:
                return self.__dict__.pop("array")

        self._mark = ArrayMark

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return self._mark if found is NumpyArrayWrapper else found
