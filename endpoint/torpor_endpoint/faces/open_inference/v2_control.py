"""Checks the requests of the protocol that control the repository: their members, and the right that they need."""

import json
from collections.abc import Sequence
from typing import Any

from torpor_account.access.page_callers import CHANGE
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import ACCESS, Scope
from torpor_account.core.access.needs import AccessNeed, CallerAccess

ONLY_VERSION = "1"
"""The version of a model without versions."""
CHANGING = AccessNeed((CHANGE,), "*")
"""The right of `torpor unload`."""


def check_control(scope: Scope) -> None:
    """Raises AccessRefused."""
    access: CallerAccess | None = scope.get(ACCESS)
    if access is not None:
        access.check((CHANGING,))


def members_of(body: bytes, known: Sequence[str], empty: Sequence[str] = ()) -> dict[str, Any]:
    """The members of a control request. Raises AwsError for unknown ones, and for one of `empty` that is not empty."""
    try:
        document = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError) as error:
        raise AwsError("BadRequest", 400, f"the body is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise AwsError("BadRequest", 400, "the body is a JSON object")
    if unknown := [name for name in document if name not in known]:
        raise AwsError("BadRequest", 400, f"this request has no member {', '.join(unknown)[:100]}")
    for name in empty:
        given = document.get(name) or {}
        if not isinstance(given, dict) or set(given) - {"unload_dependents"}:
            raise AwsError("BadRequest", 400, f"{name} are not supported: a model is loaded as its artifact has it")
    return document
