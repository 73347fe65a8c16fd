"""The page of denials: what was refused, to whom, and which policies had a say."""

from collections.abc import Iterable
from typing import Any

from torpor_account.core.access.explaining.denial import Denial
from torpor_container.typed_json import read, written

LIMIT = 10
"""The number of denials on the page, unless the request gives a limit."""
LIMIT_MAX = 1_000
"""The largest limit."""


def denials_page(denials: Iterable[Denial]) -> dict[str, Any]:
    return {"denials": written(list(denials))}


def read_denials(page: dict[str, Any]) -> list[Denial]:
    return read(list[Denial], page["denials"])
