"""Decodes, counts and hashes a request's body on its way to a sink, and checks it against the request's headers.

It works synchronously on bytes: the reader of the socket calls it with large pieces in a thread.
"""

import hashlib
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.checksums import (
    ALGORITHMS,
    DEFAULT,
    HEADER,
    Checksum,
    RequestedChecksum,
    encoded,
    requested_checksum,
    valid,
)
from torpor_account.s3.wire.chunked import ChunkedDecoder
from torpor_container.frozen_class import frozen

OBJECT_MAX_BYTES: Final = 5 * 2**30  # AWS: "In a single operation, you can upload a single object up to 5 GB in size"
DOCUMENT_MAX_BYTES: Final = 8 * 2**20  # ten thousand parts with their checksums


class Sink(Protocol):
    def write(self, piece: bytes, /) -> None: ...


@frozen
class Promise:
    """What the headers promise about the body."""

    size_bytes: int | None = None
    chunked: bool = False
    md5: bytes | None = None
    sha256: str | None = None
    checksum: RequestedChecksum | None = None
    beside: str | None = None  # one more algorithm to calculate, without a promised value


@frozen
class Receipt:
    """The size and the digests of the received body."""

    size_bytes: int
    md5: bytes
    checksum: Checksum | None
    beside: Checksum | None = None

    @property
    def etag(self) -> str:
        return self.md5.hex()


def promised(headers: Mapping[str, str]) -> Promise:
    """What the headers promise about the body. Raises InvalidArgument, InvalidDigest, InvalidRequest."""
    hashed = headers.get("x-amz-content-sha256", "")
    chunked = hashed.startswith("STREAMING-") or "aws-chunked" in headers.get("content-encoding", "")
    declared = headers.get("x-amz-decoded-content-length" if chunked else "content-length")
    return Promise(
        size_bytes=_size(declared) if declared is not None else None,
        chunked=chunked,
        md5=_md5(headers["content-md5"]) if "content-md5" in headers else None,
        sha256=hashed.lower() if len(hashed) == 64 else None,
        checksum=requested_checksum(headers),
    )


def promised_bytes(headers: Mapping[str, str]) -> Promise:
    """Like `promised`, for a body to store. Raises MissingContentLength: a proxy may have lost the body."""
    if "content-length" not in headers and "transfer-encoding" not in headers:
        raise S3Error(Refusal.MissingContentLength)
    return promised(headers)


def summed(promise: Promise) -> Promise:
    """The promise with the default checksum if the caller names none: every object gets one."""
    return promise if promise.checksum else replace(promise, checksum=RequestedChecksum(DEFAULT))


class Intake:
    """Receives one body. `feed` it to the end, then `finish`, which raises S3Error if a promise does not hold."""

    def __init__(self, promise: Promise, sink: Sink, limit_bytes: int = OBJECT_MAX_BYTES) -> None:
        if promise.size_bytes is not None and promise.size_bytes > limit_bytes:
            raise _too_large(limit_bytes)
        self._promise = promise
        self._sink = sink
        self._limit_bytes = limit_bytes
        self._decoder = ChunkedDecoder() if promise.chunked else None
        self._size_bytes = 0
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._sha256 = hashlib.sha256() if promise.sha256 else None
        self._checksum = ALGORITHMS[promise.checksum.algorithm].start() if promise.checksum else None
        self._beside = ALGORITHMS[promise.beside].start() if promise.beside else None
        digests = (self._md5, self._sha256, self._checksum, self._beside)
        self._digests = [one for one in digests if one is not None]

    def feed(self, piece: bytes) -> None:
        for payload in self._decoder.feed(piece) if self._decoder else (piece,):
            self._size_bytes += len(payload)
            if self._size_bytes > self._limit_bytes:
                raise _too_large(self._limit_bytes)
            for digest in self._digests:
                digest.update(payload)
            self._sink.write(payload)

    def finish(self) -> Receipt:
        trailers = self._decoder.finish() if self._decoder else {}
        if self._promise.size_bytes not in (None, self._size_bytes):
            raise S3Error(Refusal.IncompleteBody)
        if self._promise.md5 not in (None, self._md5.digest()):
            raise S3Error(Refusal.BadDigest, "The Content-MD5 you specified did not match what we received.")
        if self._sha256 and self._sha256.hexdigest() != self._promise.sha256:
            raise S3Error(Refusal.XAmzContentSHA256Mismatch)
        return Receipt(self._size_bytes, self._md5.digest(), self._verified(trailers), self._unpromised())

    def _verified(self, trailers: Mapping[str, str]) -> Checksum | None:
        if self._checksum is None or self._promise.checksum is None:
            return None
        algorithm = self._promise.checksum.algorithm
        computed = encoded(self._checksum.digest())
        trailer = trailers.get(HEADER + algorithm.lower())
        if trailer is None and self._promise.checksum.trailing:
            raise S3Error(Refusal.MalformedTrailerError)
        expected = self._promise.checksum.value or (valid(algorithm, trailer) if trailer else None)
        if expected not in (None, computed):
            raise S3Error(Refusal.BadDigest, f"The {algorithm} you specified did not match the calculated checksum.")
        return Checksum(algorithm, computed)

    def _unpromised(self) -> Checksum | None:
        if self._beside is None or self._promise.beside is None:
            return None
        return Checksum(self._promise.beside, encoded(self._beside.digest()))


def _size(declared: str) -> int:
    if not declared.isdecimal() or not declared.isascii() or len(declared) > 19:
        raise S3Error(Refusal.InvalidArgument, "The content length is not a number.")
    return int(declared)


def _md5(header: str) -> bytes:
    try:
        digest = b64decode(header, validate=True)
    except (NotBase64, ValueError) as error:
        raise S3Error(Refusal.InvalidDigest) from error
    if len(digest) != 16:
        raise S3Error(Refusal.InvalidDigest)
    return digest


def _too_large(limit_bytes: int) -> S3Error:
    return S3Error(Refusal.EntityTooLarge, MaxSizeAllowed=str(limit_bytes))
