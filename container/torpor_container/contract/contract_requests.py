"""Reads the members of the contract's requests, and says which of them is wrong."""

import json
import re
from typing import Any

from torpor_container.errors import BadInput

LOAD_MEMBERS = {
    "model_name": re.compile(r"[^/\x00-\x1f\x7f\ud800-\udfff]+"),  # it is one segment of the paths that follow
    "url": re.compile(r"[^\x00\ud800-\udfff]+"),
}
BUDGET_END_BYTES = 2**60
"""No budget is as large: the system's limits are signed numbers of 64 bits."""


def load_request(body: bytes) -> tuple[str, str]:
    """LoadModel's members. Raises BadInput that names the member."""
    document = _document(body)
    for member, allowed in LOAD_MEMBERS.items():
        if not isinstance(document, dict) or not isinstance(document.get(member), str) or not document[member]:
            needed = 'LoadModel needs {"model_name": "…", "url": "…"}'
            raise BadInput(f"Parameter {member} is required. {needed}: {member} is missing or no text")
        if not allowed.fullmatch(document[member]):
            raise BadInput(f"{member} has a character that no {member} may have: {document[member]!a}")
    return document["model_name"], document["url"]


def model_named(body: bytes) -> str:
    """The member of `wire.ModelName`. Raises BadInput."""
    document = _document(body)
    if not isinstance(document, dict) or not isinstance(document.get("model"), str) or len(document) > 1:
        raise BadInput('the body must be {"model": "…"}, with the TargetModel')
    name: str = document["model"]
    return name


def models_named(body: bytes) -> list[str]:
    """The member of `wire.AskedModels`. Raises BadInput."""
    document = _document(body)
    names = document.get("models") if isinstance(document, dict) and len(document) == 1 else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadInput('the body must be {"models": ["…"]}, with TargetModels')
    return names


def new_budget(body: bytes) -> int:
    """The member of `wire.MemoryChange`. Raises BadInput."""
    document = _document(body)
    budget_bytes = document.get("budget_bytes") if isinstance(document, dict) and len(document) == 1 else None
    if type(budget_bytes) is not int or not 0 < budget_bytes < BUDGET_END_BYTES:
        raise BadInput('the body must be {"budget_bytes": n}, with the whole number of bytes, 1 or more')
    return budget_bytes


def page_start(token: str | None) -> int:
    """Where the page of a `next_page_token` begins. Raises BadInput."""
    if token is None:
        return 0
    if not token.isdecimal():
        raise BadInput(f"next_page_token={token!r} is not one that this server gave")
    return int(token)


def _document(body: bytes) -> Any:
    """The JSON of a body. Raises BadInput."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the body is not JSON: {error}") from None
