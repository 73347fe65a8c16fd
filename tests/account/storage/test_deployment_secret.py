"""The secret of a deployment, in its data folder."""

from pathlib import Path

import pytest

from torpor_account.storage.deployment_secret import UnreadableSecret, kept_secret


def test_it_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "deployment-secret"
    made = kept_secret(path)
    assert (len(made), path.stat().st_mode & 0o777) == (32, 0o600)
    assert kept_secret(path) == made


def test_a_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deployment-secret"
    path.write_bytes(b"short")
    with pytest.raises(UnreadableSecret, match="must have 32 bytes: remove it"):
        kept_secret(path)
