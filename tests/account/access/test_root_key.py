"""The root credential is made once, read by its owner only, and never overwritten."""

import stat
from pathlib import Path

import pytest

from torpor_account.access.root_key import BadCredentials, kept_pair, root_pair
from torpor_endpoint.options import Options
from torpor_endpoint.starting.cannot_start import BadOption
from torpor_endpoint.starting.endpoint_checks import check


def test_it_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "credentials"
    assert kept_pair(path) is None
    made = root_pair(path)
    assert (made.access_key[:4], len(made.access_key), len(made.secret)) == ("AKIA", 20, 40)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert root_pair(path) == made
    path.chmod(0o644)
    assert root_pair(path) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["credentials"]


@pytest.mark.parametrize("text", ["", "[default]\n", "[default\n", "[other]\naws_access_key_id = a\n", "\x00"])
def test_a_file_that_has_none_is_kept_and_refused_at_the_start(tmp_path: Path, text: str) -> None:
    path = tmp_path / "credentials"
    path.write_text(text)
    with pytest.raises(BadCredentials, match="restore it, or delete it"):
        root_pair(path)
    with pytest.raises(BadOption, match=r"--auth: .*credentials has no root credential"):
        check(Options(tmp_path, auth=True))
    assert path.read_text() == text
