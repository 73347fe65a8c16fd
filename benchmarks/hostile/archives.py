"""Hostile archives by a seed: bombs, links, devices, tricks with pax headers, torn files, and pickles in disguise.

An archive that is unpacked outside its folder leaves a file whose name begins with ESCAPED.
"""

import gzip
import io
import os
import pickle
import random
import tarfile
from collections.abc import Callable

from benchmarks.hostile.files import Called, booster

ESCAPED = "hostile-escaped"
PLACES = (f"../{ESCAPED}", f"../../{ESCAPED}", f"../../../../{ESCAPED}", f"/tmp/{ESCAPED}", f"a/../../{ESCAPED}")
ENDINGS = ("model.json", "model.ubj", "model.onnx", "xgboost-model", "model.skops")


def _member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", size: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, target, size
    return member


def _packed(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _outside(chance: random.Random) -> bytes:
    return _packed([(_member(chance.choice(PLACES), size=1), b"x")])


def _link(chance: random.Random) -> bytes:
    """A link out of the folder, and a file through it."""
    kind = chance.choice((tarfile.SYMTYPE, tarfile.LNKTYPE))
    through = [(_member(f"out/{ESCAPED}", size=1), b"x")]
    return _packed([(_member("out", kind, chance.choice(("/tmp", "..", "../../..", "/etc/passwd"))), b""), *through])


def _device(chance: random.Random) -> bytes:
    return _packed([(_member("model.json", chance.choice((tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE))), b"")])


def _pax(chance: random.Random) -> bytes:
    """Headers that say another name, size or target than the member's own."""
    member = _member("model.json", size=1)
    headers = {
        "path": chance.choice(PLACES),
        "linkpath": "/etc/passwd",
        "size": chance.choice(("99999999999", "-1", "x")),
        "GNU.sparse.major": "1",
        "GNU.sparse.realsize": "99999999999",
    }
    name = chance.choice(list(headers))
    member.pax_headers = {name: headers[name]}
    try:
        return _packed([(member, b"x")])
    except (ValueError, OSError):  # tarfile itself cannot write it
        return _outside(chance)


def _bomb(chance: random.Random) -> bytes:
    """Some megabytes that become gigabytes, or thousands of files."""
    if chance.random() < 0.5:
        size = chance.choice((64, 256)) << 20
        return _packed([(_member("model.json", size=size), bytes(size))])
    return _packed([(_member(f"f{number}"), b"") for number in range(12_000)])


def _torn(chance: random.Random) -> bytes:
    content = bytearray(_packed([(_member("model.json", size=5000), os.urandom(5000))]))
    if chance.random() < 0.5:
        return bytes(content[: chance.randrange(1, len(content))])
    for _ in range(chance.randint(1, 8)):
        content[chance.randrange(10, len(content))] = chance.randrange(256)
    return bytes(content)


def _no_archive(chance: random.Random) -> bytes:
    return chance.choice(
        (b"", b"\x1f\x8b", os.urandom(2000), gzip.compress(os.urandom(3000)), b"PK\x03\x04" + bytes(90))
    )


def _disguise(chance: random.Random) -> bytes:
    """A pickle that writes a file as it loads, under a name of another format."""
    content = pickle.dumps(Called(open, f"/tmp/{ESCAPED}", "w"), chance.choice((0, 2, 4)))
    return _packed([(_member(chance.choice(ENDINGS), size=len(content)), content)])


def _two_models(chance: random.Random) -> bytes:
    """A whole model beside one that runs code."""
    whole, code = bytes(booster("plain").save_raw("ubj")), pickle.dumps(Called(open, f"/tmp/{ESCAPED}", "w"))
    files = [("model.ubj", whole), (chance.choice(("model.pkl", "model.joblib")), code)]
    return _packed([(_member(name, size=len(content)), content) for name, content in files])


ARCHIVES: dict[str, Callable[[random.Random], bytes]] = {
    "archive, a path that leads out": _outside,
    "archive, a link": _link,
    "archive, a device": _device,
    "archive, pax headers": _pax,
    "archive, a bomb": _bomb,
    "archive, torn": _torn,
    "archive, none": _no_archive,
    "archive, a pickle in disguise": _disguise,
    "archive, two models": _two_models,
}
