"""Decodes a `multipart/form-data` body into its fields and the bytes of its file. It does not know the fields."""

import re
from typing import Final

from torpor_account.s3.errors import Refusal, S3Error

# AWS: "The form data and boundaries (excluding the contents of the file) cannot exceed 20 KB."
FIELDS_MAX_BYTES: Final = 20 * 1024

FILE: Final = "file"

_LINE_END: Final = b"\r\n"
_HEADERS_END: Final = b"\r\n\r\n"
_BOUNDARY: Final = re.compile(r'boundary=(?:"([^"]+)"|([^\s;,"]+))', re.IGNORECASE)
_DISPOSITION: Final = re.compile(rb"^content-disposition:\s*form-data\s*;(.*)$", re.IGNORECASE | re.MULTILINE)
_PARAMETER: Final = re.compile(rb'\b(\w+)=(?:"([^"]*)"|([^\s;"]+))')


class FormDecoder:
    """Decodes a form in any pieces. Field names become lower case. Like S3, it ignores everything after the file."""

    def __init__(self, content_type: str) -> None:
        """Raises PreconditionFailed if the content type is not a form's."""
        media_type, _, parameters = content_type.partition(";")
        boundary = _BOUNDARY.search(parameters)
        if media_type.strip().lower() != "multipart/form-data" or boundary is None:
            text = "Bucket POST must be of the enclosure-type multipart/form-data"
            raise S3Error(Refusal.PreconditionFailed, Condition=text)
        self.fields: dict[str, str] = {}
        self.filename: str | None = None
        """Set when the file begins; then all fields are known too. Empty for a file without a name."""
        self._delimiter = b"\r\n--" + (boundary[1] or boundary[2]).encode("latin-1")
        self._held = _LINE_END  # so that the first delimiter begins like the others
        self._at = 0
        self._over = False

    def feed(self, piece: bytes) -> bytes:
        """The bytes of the file that are certain by now."""
        if self._over:
            return b""
        self._held += piece
        if self.filename is None:
            self._read_fields()
        return b"" if self.filename is None else self._read_file()

    def finish(self) -> None:
        """Raises InvalidArgument for a form without a file, and MalformedPOSTRequest for a truncated one."""
        if self.filename is None:
            given = {"ArgumentName": FILE, "ArgumentValue": "0"}
            raise S3Error(Refusal.InvalidArgument, "POST requires exactly one file upload per request.", **given)
        if not self._over:
            raise S3Error(Refusal.MalformedPOSTRequest)

    def _read_fields(self) -> None:
        """Read complete fields, up to the first byte of the file."""
        while self.filename is None and (end := self._held.find(_HEADERS_END, self._at)) >= 0:
            if end > FIELDS_MAX_BYTES:
                break
            given = _disposition(self._held[self._at : end])
            begin = end + len(_HEADERS_END)
            stop = self._held.find(self._delimiter, begin)
            if given["name"].lower() == FILE:
                self.filename, self._at = given.get("filename", ""), begin
            elif stop < 0:
                break
            else:
                self.fields[given["name"].lower()], self._at = _decoded(self._held[begin:stop]), stop
        if (len(self._held) if self.filename is None else self._at) > FIELDS_MAX_BYTES:
            raise S3Error(Refusal.MaxPostPreDataLengthExceeded)
        if self.filename is not None:
            self._held = self._held[self._at :]

    def _read_file(self) -> bytes:
        """The file's bytes. The end of the buffer may be the beginning of a delimiter, so it waits for more."""
        end = self._held.find(self._delimiter)
        self._over = end >= 0
        cut = end if self._over else max(len(self._held) - len(self._delimiter) + 1, 0)
        payload, self._held = self._held[:cut], self._held[cut:]
        return payload


def _disposition(headers: bytes) -> dict[str, str]:
    """The parameters of a part's `Content-Disposition`, with at least `name`."""
    found = _DISPOSITION.search(headers)
    given = {
        _decoded(match[1]).lower(): _decoded(match[2] if match[3] is None else match[3])
        for match in _PARAMETER.finditer(found[1] if found else b"")
    }
    if "name" not in given:
        raise S3Error(Refusal.MalformedPOSTRequest)
    return given


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise S3Error(Refusal.MalformedPOSTRequest) from error
