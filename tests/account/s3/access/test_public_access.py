"""A block of public access holds however its booleans are spelled."""

from types import SimpleNamespace
from typing import Any

import pytest

from torpor_account.s3.access.public_access import PublicAccess, blocks


def said(text: str | None) -> Any:
    document = f"<PublicAccessBlockConfiguration>{text}</PublicAccessBlockConfiguration>".encode()
    return SimpleNamespace(configuration=lambda bucket, name: None if text is None else document)


@pytest.mark.parametrize(
    ("text", "blocked"),
    [
        ("<BlockPublicPolicy>true</BlockPublicPolicy>", True),
        ("<BlockPublicPolicy> TRUE </BlockPublicPolicy>", True),
        ("<BlockPublicPolicy>1</BlockPublicPolicy>", True),
        ("<BlockPublicPolicy>false</BlockPublicPolicy>", False),
        ("<RestrictPublicBuckets>true</RestrictPublicBuckets>", False),
        ("", False),
        (None, False),
    ],
)
def test_a_member_blocks_if_it_is_true(text: str | None, blocked: bool) -> None:
    assert blocks(said(text), "b", PublicAccess.NEW_POLICIES) is blocked
