"""Reads what `joblib.dump` wrote, without compression, by Python's own unpickler.

joblib puts the bytes of each array behind the instructions that say its type and shape, and reads such a file by an
unpickler in Python, which takes ten times as long. Here a mark stands in for the array: as soon as its instructions are
done it reads the bytes, and the unpickler is handed two instructions more, which put the array in the mark's place.
"""

import io
import pickle
from inspect import signature
from io import BufferedReader
from math import prod
from typing import Any

import numpy as np
from joblib.numpy_pickle import NumpyArrayWrapper

BEGINNINGS = (b"\x80\x04", b"\x80\x05")
"""Of pickles in frames: a frame ends where an array begins."""
ARRAY_MARK, OLD_ARRAY_MARK = b"NumpyArrayWrapper", b"NDArrayWrapper"
"""The classes of marks; before joblib 0.10 arrays were in files of their own."""
_BUILD, _CALL = b"b", b")R"
_NATIVE = (True,) if len(signature(NumpyArrayWrapper.read).parameters) > 2 else ()
"""What joblib takes since 1.5: that arrays get the processor's order of bytes, as they always did before."""


def is_read(content: Any) -> bool:
    """Whether a file with these bytes, of at least two, can be read here."""
    return content[:2] in BEGINNINGS and content.find(ARRAY_MARK) >= 0 and content.find(OLD_ARRAY_MARK) < 0


def load(file: BufferedReader) -> Any:
    """The object that joblib would load from the file. Raises what unpickling raises, and UnpicklingError for an array
    that is not behind a frame."""
    return _DumpUnpickler(_Instructions(file)).load()


class _Instructions:
    """The file as the unpickler reads it. joblib's `read` takes it for its unpickler."""

    np, mmap_mode, filename = np, None, ""

    def __init__(self, file: BufferedReader) -> None:
        self.file_handle = file
        self._last = self._more = b""

    def read(self, count: int) -> bytes:
        """The next bytes: a frame in one call, and each instruction outside a frame by itself."""
        if self._more:
            read, self._more = self._more[:count], self._more[count:]
        else:
            read = self.file_handle.read(count)
        self._last = read[-1:]
        return read

    def readinto(self, buffer: Any) -> int:
        """Large bytes, which are no part of a frame, to the place where they stay: a second copy may find no room."""
        self._last = b""
        return self.file_handle.readinto(buffer)

    def readline(self) -> bytes:
        return self.file_handle.readline()

    def find_class(self, module: str, name: str) -> Any:
        return pickle.Unpickler(io.BytesIO()).find_class(module, name)

    def array(self, mark: NumpyArrayWrapper) -> Any:
        """The array behind the instructions that have been read."""
        if self._last != _BUILD:
            raise pickle.UnpicklingError("an array does not begin where a frame of the pickle ends")
        array = self._plain(mark) if _is_plain(mark) else mark.read(self, *_NATIVE)
        self._more = _CALL
        return array

    def _plain(self, mark: NumpyArrayWrapper) -> Any:
        """As joblib reads it, at once."""
        if getattr(mark, "numpy_array_alignment_bytes", None) is not None:
            self.file_handle.read(self.file_handle.read(1)[0])
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

        class ArrayMark(NumpyArrayWrapper):  # type: ignore[misc]  # joblib has no types
            """Its array is read as soon as it knows type and shape; a call returns it."""

            def __setstate__(self, state: dict[str, Any]) -> None:
                self.__dict__.update(state)
                self.array = instructions.array(self)

            def __call__(self) -> Any:
                return self.__dict__.pop("array")

        self._mark = ArrayMark

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return self._mark if found is NumpyArrayWrapper else found
