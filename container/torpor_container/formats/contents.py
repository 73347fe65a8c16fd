"""Finds out what a file holds, by its bytes and not its name. It parses them; it runs and loads nothing.

A name may be wrong, and the first bytes may mean anything: text that begins with `{` and has `learner` somewhere need
not be a model. Files that XGBoost writes are known by their members; other JSON is parsed as a whole, if it is small.
An instance looks before a trial does: no file, whatever is in it, takes more memory or time than the bounds here say.
"""

import json
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from fnmatch import fnmatchcase
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO

HEAD_BYTES = 512
PARSED_MAX_BYTES = 8 * 1024 * 1024
"""Of JSON, whose values may take twenty times as much memory."""
FIELDS_MAX = 100_000
"""Of an ONNX model, outside of its graph."""
NAMES_MAX_BYTES = 4 * 1024 * 1024
"""Of what a zip archive says of its members."""


class Content(Enum):
    """What a model file can hold."""

    XGBOOST = auto()
    """XGBoost's JSON or UBJSON."""
    OLD_XGBOOST = auto()
    """XGBoost's binary format, which XGBoost 3.1 and later no longer read."""
    PICKLE = auto()
    """A pickle, of pickle itself or of joblib."""
    ONNX = auto()
    SKOPS = auto()
    LIGHTGBM = auto()
    """LightGBM's text format."""


PACKED = {
    b"\x1f\x8b": "a gzip file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ\0": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"PK\3\4": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
}
"""What else people pack with, by its first bytes."""


FOREIGN = {
    "*.cbm": "a CatBoost model",
    "saved_model.pb": "a SavedModel of TensorFlow",
    "*.keras": "a Keras model",
    "*.h5": "an HDF5 file, as Keras writes",
    "*.hdf5": "an HDF5 file, as Keras writes",
    "*.tflite": "a TensorFlow Lite model",
    "*.pt": "a PyTorch file",
    "*.pth": "a PyTorch file",
    "pytorch_model*.bin": "a PyTorch file",
    "*.safetensors": "a file of weights alone",
    "*.gguf": "a model of llama.cpp",
    "*.mar": "an archive of TorchServe",
    "*.pmml": "a PMML file",
    "*.rds": "an object of R",
    "*.plan": "a TensorRT engine",
    "*.engine": "a TensorRT engine",
}
"""Files of models that no format here reads, by their names."""

XGBOOST_DUMP = "a dump of XGBoost's trees, from which no model can be read: write the model by save_model"
UNREADABLE = {
    b"0:[": XGBOOST_DUMP,
    b"0:leaf=": XGBOOST_DUMP,
    b"booster[0]:": XGBOOST_DUMP,
    b'[{"nodeid":': XGBOOST_DUMP,
    b'{"name":"tree","version":': (
        "a dump of LightGBM's trees, from which no model can be read: write the model by save_model"
    ),
    b"treeversion=v": "a LightGBM model whose lines end as on Windows, which LightGBM does not read: write it anew",
}
"""Files that a framework writes and does not read, by their first bytes without white space, and what to do."""


def foreign(path: Path) -> str | None:
    """What the file is, if its name is that of a model of another framework."""
    return next((kind for pattern, kind in FOREIGN.items() if fnmatchcase(path.name.lower(), pattern)), None)


def unreadable(head: bytes) -> str | None:
    """What the file is, if its first bytes are those of one that no framework reads."""
    begins = b"".join(head.split())
    return next((kind for first, kind in UNREADABLE.items() if begins.startswith(first)), None)


def packed_as(head: bytes) -> str | None:
    """The kind of archive or compressed file that begins so."""
    return next((kind for begins, kind in PACKED.items() if head.startswith(begins)), None)


def content_of(path: Path) -> Content | None:
    """What the file holds; None if it is not a model."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    return next((content for content, proven in PROOFS if proven(path, head)), None)


def may_be_model(path: Path) -> bool:
    """Whether it may be a model, by its first bytes: text that is not JSON, images and archives are not."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    return head.lstrip()[:1] == b"{" or head[:1] in FIRST or _is_old(path, head) or _is_lightgbm(path, head)


# -- XGBoost -----------------------------------------------------------------------------------------------------------
OLD = (b"binf", b"bs64")
"""The first bytes of files in the binary format. The oldest do not have them."""
OLD_BOOSTERS = tuple(len(name).to_bytes(8, "little") + name for name in (b"gbtree", b"gblinear", b"dart"))
"""One of these is near the beginning of each such file."""


def is_old_xgboost(head: bytes) -> bool:
    """Whether it is a file in the binary format, by its first bytes."""
    return head.startswith(OLD) or any(name in head[:HEAD_BYTES] for name in OLD_BOOSTERS)


def _is_old(path: Path, head: bytes) -> bool:
    return is_old_xgboost(head)


def _text(text: bytes) -> bytes:
    """A text as XGBoost writes it in UBJSON: its length, and then its bytes."""
    return b"L%b%b" % (len(text).to_bytes(8, "big"), text)


MEMBERS = (b"learner_model_param", b"gradient_booster", b"objective", b"version")
JSON_HEAD, JSON_MEMBERS = b'{"learner":{', tuple(b'"%b":' % name for name in MEMBERS)
UBJSON_HEAD, UBJSON_MEMBERS = b"{" + _text(b"learner") + b"{", tuple(map(_text, MEMBERS))


def is_xgboost(path: Path) -> bool:
    """Whether it is a whole model in JSON or UBJSON."""
    with path.open("rb") as file:
        return _is_xgboost(path, file.read(HEAD_BYTES))


def _is_xgboost(path: Path, head: bytes) -> bool:
    if head.startswith(UBJSON_HEAD):
        with _mapped(path) as content:
            return _has_all(content, UBJSON_MEMBERS)
    if head.lstrip()[:1] != b"{":
        return False
    with _mapped(path) as content:
        return (head.startswith(JSON_HEAD) and _has_all(content, JSON_MEMBERS)) or _parses_as_xgboost(content)


def begins_as_xgboost(path: Path) -> bool:
    """Whether it begins as XGBoost's JSON: if no other file is a model, the load proves it, or shows what is wrong."""
    with path.open("rb") as file:
        head = b"".join(file.read(HEAD_BYTES).split())
    return head.startswith((JSON_HEAD, UBJSON_HEAD))


@contextmanager
def _mapped(path: Path) -> Iterator[mmap]:
    """The bytes of a file that is not empty, none of them in memory of this process."""
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        yield content


def _has_all(content: mmap, members: tuple[bytes, ...]) -> bool:
    return all(content.find(member) >= 0 for member in members)


def _parses_as_xgboost(content: mmap) -> bool:
    """Whether it is a model in JSON of another program: indented, or with members in another order. A large one need
    only have the members: its load shows the rest."""
    if not _has_all(content, tuple(b'"%b"' % name for name in (b"learner", *MEMBERS[:3]))):
        return False
    if len(content) > PARSED_MAX_BYTES:
        return True
    try:
        document, _ = json.JSONDecoder().raw_decode(content[:].decode().lstrip())
    except (ValueError, RecursionError):
        return False
    learner = document.get("learner") if isinstance(document, dict) else None
    return isinstance(learner, dict) and all(isinstance(learner.get(name.decode()), dict) for name in MEMBERS[:3])


# -- LightGBM ----------------------------------------------------------------------------------------------------------
LIGHTGBM_HEAD = b"tree\nversion=v"


def _is_lightgbm(path: Path, head: bytes) -> bool:
    return head.startswith(LIGHTGBM_HEAD)


# -- ONNX --------------------------------------------------------------------------------------------------------------
ONNX_FIELDS = {1: 0, 2: 2, 3: 2, 4: 2, 5: 0, 6: 2, 7: 2, 8: 2, 14: 2, 20: 2, 25: 2, 26: 2}
"""The wire type of each field of a ModelProto, by its number (onnx.proto)."""
IR_VERSION, GRAPH = 1, 7


def _is_onnx(path: Path, head: bytes) -> bool:
    """Whether all bytes are a protocol buffer with the fields of a ModelProto."""
    if head[:1] != b"\x08":
        return False
    found: set[int] = set()
    size_bytes = path.stat().st_size
    with path.open("rb") as file:
        for _ in range(FIELDS_MAX):
            if file.tell() >= size_bytes:
                return {IR_VERSION, GRAPH} <= found
            tag = _varint(file)
            field, wire_type = tag >> 3, tag & 7
            if ONNX_FIELDS.get(field) != wire_type:
                return False
            value = _varint(file)
            if value < 0 or (wire_type == 2 and file.seek(value, 1) > size_bytes):
                return False
            found.add(field)
    return False


def _varint(file: BinaryIO) -> int:
    """-1 where there is none."""
    value = 0
    for shift in range(0, 70, 7):
        byte = file.read(1)
        if not byte:
            return -1
        value |= (byte[0] & 127) << shift
        if byte[0] < 128:
            return value
    return -1


# -- pickles and skops -------------------------------------------------------------------------------------------------
COMPRESSED = (b"\x78", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x5d\x00\x00")
"""The first bytes of joblib's compressed files: zlib, gzip, bz2, xz, lzma."""
PICKLED = b"\x80"
OLDEST_PICKLED = (b"ccopy_reg\n", b"ccopyreg\n", b"cxgboost.", b"csklearn.", b"(ixgboost.")
"""The first bytes of pickles of protocol 0, which is text, for objects of known libraries."""
FIRST = frozenset((PICKLED, b"\x08", b"P", b"c", b"(", *(magic[:1] for magic in COMPRESSED)))
"""The first bytes of files that may be models, except JSON and XGBoost's binary format."""


def _is_pickle(path: Path, head: bytes) -> bool:
    if head[:1] == PICKLED:
        return len(head) > 1 and 2 <= head[1] <= 5
    return head.startswith(OLDEST_PICKLED) or (head.startswith(COMPRESSED) and pickled_class(path) is not None)


def pickled_class(path: Path) -> str | None:
    """`module.name` of the class of the pickled object, read from the pickle's instructions.

    None where the file is no pickle, "" where it holds a list, a dict or the like.
    """
    from torpor_container.formats import pickled_classes  # few artifacts need it, and `pickletools` takes milliseconds

    return pickled_classes.of(path)


def _is_skops(path: Path, head: bytes) -> bool:
    if not head.startswith(b"PK") or _names_bytes(path) > NAMES_MAX_BYTES:
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return "schema.json" in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return False


END_OF_ZIP, END_OF_LARGE_ZIP, ENDS_MAX_BYTES = b"PK\5\6", b"PK\6\7", 128 * 1024
"""Of a zip archive: how its last record begins, and the one before it that only more than 4 GiB or 65,535 members need;
and how many bytes at its end may have them."""


def _names_bytes(path: Path) -> int:
    """How many bytes a zip archive has of the names and places of its members, as its end says: very many where it may
    say so twice."""
    size_bytes = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size_bytes - ENDS_MAX_BYTES))
        end = file.read()
    at = end.rfind(END_OF_ZIP)
    if at < 0 or len(end) < at + 16 or END_OF_LARGE_ZIP in end:
        return size_bytes
    found: int = struct.unpack_from("<I", end, at + 12)[0]
    return found


PROOFS: tuple[tuple[Content, Any], ...] = (
    (Content.XGBOOST, _is_xgboost),
    (Content.PICKLE, _is_pickle),
    (Content.OLD_XGBOOST, _is_old),
    (Content.ONNX, _is_onnx),
    (Content.SKOPS, _is_skops),
    (Content.LIGHTGBM, _is_lightgbm),
)
