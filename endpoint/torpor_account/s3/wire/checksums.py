"""Calculates S3's checksums, piece by piece, and combines those of an upload's parts. Pure."""

import hashlib
import zlib
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from torpor_account.s3.errors import Refusal, S3Error
from torpor_container.frozen_class import frozen

HEADER: Final = "x-amz-checksum-"
FULL_OBJECT: Final = "FULL_OBJECT"
COMPOSITE: Final = "COMPOSITE"
DEFAULT: Final = "CRC64NVME"
"""AWS: an object "uploaded without a checksum" has this one, "and Amazon S3 added the default checksum"."""

_NO_VALUES: Final = ("algorithm", "type", "mode")
"""The ends of the headers that begin with `HEADER` but hold no checksum."""


def _crt() -> Any:
    """AWS's own library of checksums. It is imported with its first use: an idle endpoint saves 5 MiB."""
    from awscrt import checksums

    return checksums


class RunningChecksum(Protocol):
    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...


class _Crc:
    def __init__(self, step: Callable[[bytes, int], int], size_bytes: int) -> None:
        self._step = step
        self._size_bytes = size_bytes
        self._value = 0

    def update(self, data: bytes, /) -> None:
        self._value = self._step(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._size_bytes, "big")


@frozen
class Algorithm:
    """How to calculate one checksum. `combine` makes the whole object's from its parts'; None if that is impossible."""

    start: Callable[[], RunningChecksum]
    size_bytes: int
    combine: Callable[[int, int, int], int] | None = None
    default_type: str = COMPOSITE


ALGORITHMS: Final[Mapping[str, Algorithm]] = {
    "CRC32": Algorithm(lambda: _Crc(zlib.crc32, 4), 4, lambda *parts: _crt().combine_crc32(*parts)),
    "CRC32C": Algorithm(lambda: _Crc(_crt().crc32c, 4), 4, lambda *parts: _crt().combine_crc32c(*parts)),
    "CRC64NVME": Algorithm(
        lambda: _Crc(_crt().crc64nvme, 8), 8, lambda *parts: _crt().combine_crc64nvme(*parts), FULL_OBJECT
    ),
    "SHA1": Algorithm(hashlib.sha1, 20),
    "SHA256": Algorithm(hashlib.sha256, 32),
    "SHA512": Algorithm(hashlib.sha512, 64),
    "MD5": Algorithm(lambda: hashlib.md5(usedforsecurity=False), 16),
}


class Checksum(NamedTuple):
    """A checksum in its wire form: base64; a composite one ends with `-` and the number of parts."""

    algorithm: str
    value: str
    kind: str = FULL_OBJECT

    @property
    def header(self) -> str:
        return HEADER + self.algorithm.lower()

    @property
    def digest(self) -> str:
        return self.value.partition("-")[0]

    @property
    def element(self) -> str:
        return "Checksum" + self.algorithm


@frozen
class RequestedChecksum:
    """A checksum that the caller requests. `value` is None if it comes in a trailer, or is not given at all."""

    algorithm: str
    value: str | None = None
    trailing: bool = False


def known(name: str) -> str:
    """The algorithm's name in the table. Raises InvalidRequest."""
    if name.upper() not in ALGORITHMS:
        text = f"Checksum algorithm provided is unsupported: {name}. Please try again with any of {_names()}."
        raise S3Error(Refusal.InvalidRequest, text)
    return name.upper()


def given_checksums(headers: Mapping[str, str]) -> dict[str, str]:
    """The checksums in the headers, by algorithm. Raises InvalidRequest for an unknown algorithm."""
    given = {name.removeprefix(HEADER): value for name, value in headers.items() if name.startswith(HEADER)}
    return {known(name): value for name, value in given.items() if name not in _NO_VALUES}


def requested_checksum(headers: Mapping[str, str]) -> RequestedChecksum | None:
    """The checksum that a request's headers promise for its body."""
    given = given_checksums(headers)
    if len(given) > 1:
        text = "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."
        raise S3Error(Refusal.InvalidRequest, text)
    if given:
        algorithm, value = given.popitem()
        return RequestedChecksum(algorithm, valid(algorithm, value))
    announced = headers.get("x-amz-trailer", "").strip().lower()
    if announced.startswith(HEADER):
        return RequestedChecksum(known(announced.removeprefix(HEADER)), trailing=True)
    named = headers.get("x-amz-sdk-checksum-algorithm") or headers.get("x-amz-checksum-algorithm")
    return RequestedChecksum(known(named)) if named else None


def valid(algorithm: str, value: str) -> str:
    try:
        right = len(b64decode(value, validate=True)) == ALGORITHMS[algorithm].size_bytes
    except (NotBase64, ValueError):
        right = False
    if not right:
        raise S3Error(Refusal.InvalidRequest, f"Value for {HEADER}{algorithm.lower()} header is invalid.")
    return value


def encoded(digest: bytes) -> str:
    return b64encode(digest).decode()


def composite(algorithm: str, values: Sequence[str]) -> Checksum:
    """AWS: a composite checksum is "calculated based on the checksums of each part"."""
    whole = ALGORITHMS[algorithm].start()
    whole.update(b"".join(b64decode(value) for value in values))
    return Checksum(algorithm, f"{encoded(whole.digest())}-{len(values)}", COMPOSITE)


def full_object(algorithm: str, values: Sequence[str], sizes: Sequence[int]) -> Checksum:
    """The checksum of the concatenated parts, without reading them again. Only a CRC makes that possible."""
    combine = ALGORITHMS[algorithm].combine
    if combine is None:
        raise S3Error(Refusal.InvalidRequest, f"The FULL_OBJECT checksum type cannot be used with {algorithm}.")
    total = 0
    for value, size in zip(values, sizes, strict=True):
        total = combine(total, int.from_bytes(b64decode(value), "big"), size)
    return Checksum(algorithm, encoded(total.to_bytes(ALGORITHMS[algorithm].size_bytes, "big")))


def _names() -> str:
    return ", ".join(ALGORITHMS)
