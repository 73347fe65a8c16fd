"""The error that every AWS operation raises, and the ones that the protocol layer raises by itself."""

from collections.abc import Mapping
from typing import Any


class AwsError(Exception):
    """Knows its wire form: `code` and `message` as a client sees them, the HTTP `status`, and extra body `members`."""

    def __init__(
        self, code: str, status: int = 400, message: str = "", members: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.status = status
        self.message = message
        self.members: dict[str, Any] = dict(members or {})

    @property
    def senders_fault(self) -> bool:
        return self.status < 500


def internal_failure() -> AwsError:
    return AwsError("InternalFailure", 500, "The request processing has failed because of an unknown error.")


def unreadable(why: str) -> AwsError:
    """The body is not what its protocol says, or a value is not of its member's type."""
    return AwsError("SerializationException", 400, why)


def too_large(limit_bytes: int) -> AwsError:
    return AwsError("RequestEntityTooLargeException", 413, f"The request body exceeds {limit_bytes} bytes.")


def unsupported(why: str) -> AwsError:
    """The body is of a type, or packed in a way, that its protocol does not have."""
    return AwsError("UnsupportedMediaTypeException", 415, why)
