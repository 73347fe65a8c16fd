"""The response that a script's output_fn may return: of Flask's, what scripts use."""

from collections.abc import Iterable, Mapping
from typing import Any

from sagemaker_containers import _content_types

from torpor_container.content.media import with_charset


class Response:
    """A body, its type and a status. Torpor answers with them."""

    default_mimetype = _content_types.JSON

    def __init__(
        self,
        response: str | bytes | Iterable[str | bytes] | None = None,
        accept: str | None = None,
        status: int | str | None = 200,
        headers: Mapping[str, str] | None = None,
        mimetype: str | None = None,
        direct_passthrough: bool = False,
    ) -> None:
        """`accept` and `direct_passthrough` are without effect, as there."""
        self._body = _joined(response)
        self.status_code = int(str(200 if status is None else status).split()[0])
        self.headers: dict[str, str] = dict(headers or {})
        self.content_type = (
            with_charset(mimetype) if mimetype else self.headers.get("Content-Type") or self.default_mimetype
        )

    @property
    def mimetype(self) -> str:
        return self.content_type.partition(";")[0].strip().lower()

    @property
    def data(self) -> bytes:
        return self._body

    @property
    def response(self) -> list[bytes]:
        return [self._body]

    def get_data(self, as_text: bool = False) -> Any:
        return self._body.decode() if as_text else self._body

    def set_data(self, value: str | bytes) -> None:
        self._body = _joined(value)


def _joined(response: str | bytes | Iterable[str | bytes] | None) -> bytes:
    if response is None:
        return b""
    if isinstance(response, str):
        return response.encode()
    if isinstance(response, bytes | bytearray):
        return bytes(response)
    return b"".join(part.encode() if isinstance(part, str) else part for part in response)
