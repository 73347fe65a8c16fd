"""The Python of how-to pages runs as it stands, against an endpoint of its own."""

from pathlib import Path

import pytest

from tests.endpoint.helpers.live_endpoint import REGION, LiveEndpoint
from tests.markdown import ROOT, blocks

RUNNABLE = ("pipeline.md",)


@pytest.mark.parametrize("name", RUNNABLE)
def test_the_page_s_python_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "\n".join(blocks(ROOT / "docs/how-to" / name, "python"))
    with LiveEndpoint(tmp_path) as live:
        settings = {"ENDPOINT_URL": live.url, "ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "y", "DEFAULT_REGION": REGION}
        for variable, value in settings.items():
            monkeypatch.setenv(f"AWS_{variable}", value)
        exec(compile(source, name, "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    assert "is about" in printed[0]
