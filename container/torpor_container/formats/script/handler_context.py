"""The `context` that a script's functions may take: Multi Model Server's names, for one request at a time.

It does not have that server's `metrics`, `model_name`, name and version.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

CONTENT_TYPE = "content-type"
MANIFEST = Path("MAR-INF/MANIFEST.json")


class Headers(dict[str, str]):
    """Headers by the names that they were set with. A look-up takes a name in any letter case."""

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        super().__init__({name: value for name, value in (given or {}).items() if value})

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(self._own(name))

    def __setitem__(self, name: str, value: str) -> None:
        super().__setitem__(self._own(name), value)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(self._own(str(name)))

    def get(self, name: str, default: Any = None, /) -> Any:
        return super().get(self._own(name), default)

    def _own(self, name: str) -> str:
        """The name of the same header here; the name itself if there is none."""
        lowered = name.lower()
        return name if name in self.keys() else next((own for own in self if own.lower() == lowered), name)


class RequestProcessor:
    """One request's headers, and the status and headers of its answer."""

    def __init__(self, request_headers: Mapping[str, str]) -> None:
        self._request_headers = Headers(request_headers)
        self._response_headers = Headers()
        self._status: tuple[int, str | None] = (200, None)

    def get_request_property(self, key: str) -> str | None:
        value: str | None = self._request_headers.get(key)
        return value

    def get_request_properties(self) -> dict[str, str]:
        return self._request_headers

    def report_status(self, code: int, reason_phrase: str | None = None) -> None:
        """Set the status. The phrase can be read here, and is not sent."""
        self._status = (code, reason_phrase)

    def get_response_status_code(self) -> int:
        return self._status[0]

    def get_response_status_phrase(self) -> str | None:
        return self._status[1]

    def add_response_property(self, key: str, value: str) -> None:
        """Set a header of the answer. The caller gets the custom attributes, and a session's beginning and end."""
        self._response_headers[key] = value

    def get_response_headers(self) -> dict[str, str]:
        return self._response_headers

    def get_response_header(self, key: str) -> str | None:
        value: str | None = self._response_headers.get(key)
        return value


class Context:
    """What a function can read about its environment and its request, and set for its answer.

    That server passes requests in batches; here each batch has one request, so an index is always 0.
    """

    def __init__(self, model_dir: Path) -> None:
        self.system_properties: dict[str, Any] = {"model_dir": str(model_dir), "gpu_id": None, "batch_size": 1}
        self.manifest = _manifest(model_dir)
        self.begin({})

    def begin(self, request_headers: Mapping[str, str]) -> None:
        """Begin another request, without anything of the last one."""
        self.request_ids = {0: str(uuid4())}
        self.request_processor = [RequestProcessor(request_headers)]

    def get_request_id(self, idx: int = 0) -> str | None:
        """The request's id, which is made here: no caller knows it."""
        return self.request_ids.get(idx)

    def get_request_header(self, idx: int, key: str) -> str | None:
        return self.request_processor[idx].get_request_property(key)

    def get_all_request_header(self, idx: int) -> dict[str, str]:
        return self.request_processor[idx].get_request_properties()

    def set_response_content_type(self, idx: int, value: str) -> None:
        """Set the answer's type, for scripts that read it. As in the toolkit, a return value or Accept decides."""
        self.set_response_header(idx, CONTENT_TYPE, value)

    def get_response_content_type(self, idx: int) -> str | None:
        return self.get_response_headers(idx).get(CONTENT_TYPE)

    def get_response_status(self, idx: int) -> tuple[int, str | None]:
        processor = self.request_processor[idx]
        return processor.get_response_status_code(), processor.get_response_status_phrase()

    def set_response_status(self, code: int = 200, phrase: str = "", idx: int = 0) -> None:
        """The status of an answer that the script returns. An exception has its own status."""
        self.request_processor[idx].report_status(code, phrase)

    def set_all_response_status(self, code: int = 200, phrase: str = "") -> None:
        for processor in self.request_processor:
            processor.report_status(code, phrase)

    def get_response_headers(self, idx: int) -> dict[str, str]:
        return self.request_processor[idx].get_response_headers()

    def set_response_header(self, idx: int, key: str, value: str) -> None:
        self.request_processor[idx].add_response_property(key, value)


def _manifest(model_dir: Path) -> Any:
    """The manifest of a model archive; None if there is none."""
    path = model_dir / MANIFEST
    return json.loads(path.read_bytes()) if path.is_file() else None
