"""Defines the error that every AWS operation raises, the rows of a service's table, and the protocol layer's errors."""

from collections.abc import Mapping
from dataclasses import field
from types import ModuleType
from typing import Any

from torpor_container.frozen_class import frozen

DATABASE_AWAY = "The endpoint cannot use its database (a server that is away, a full disk): its log says why."


class AwsError(Exception):
    """One error as a client sees it: `code`, `message`, HTTP `status`, and the extra `members` of its body."""

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


@frozen
class ErrorKind:
    """One row of a service's table of errors: calling the row makes the error.

    `text` has named places, such as `{name}`, and so have the values of `members`, the extra members of the error's
    body. A row whose text is `{message}` takes its whole text from the caller.
    """

    situation: str
    """The fault, in a few words for a reader of the table."""
    code: str
    status: int
    text: str = "{message}"
    members: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, message: str = "", /, **places: object) -> AwsError:
        """The error with its places filled. `message` fills the place of the same name."""
        known = {"message": message, **places}
        members = {name: text.format_map(known) for name, text in self.members.items()}
        return AwsError(self.code, self.status, self.text.format_map(known), members)


def error_kinds(table: ModuleType) -> list[ErrorKind]:
    """The rows of a service's table, which is the module `errors` of its folder, in their order."""
    return [value for value in vars(table).values() if isinstance(value, ErrorKind)]


def internal_failure() -> AwsError:
    """The endpoint failed for a reason that the caller cannot change."""
    return AwsError("InternalFailure", 500, "The request processing has failed because of an unknown error.")


def database_away() -> AwsError:
    """What keeps the records did not do it."""
    return AwsError("InternalFailure", 500, DATABASE_AWAY)


def unreadable(why: str) -> AwsError:
    """The body breaks the rules of its protocol, or a value has another type than its member."""
    return AwsError("SerializationException", 400, why)


def too_large(limit_bytes: int) -> AwsError:
    """The body is larger than the limit, in bytes."""
    return AwsError("RequestEntityTooLargeException", 413, f"The request body exceeds {limit_bytes} bytes.")


def unsupported(why: str) -> AwsError:
    """The body has a type or an encoding that its protocol does not know."""
    return AwsError("UnsupportedMediaTypeException", 415, why)
