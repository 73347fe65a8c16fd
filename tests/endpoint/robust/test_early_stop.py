"""An endpoint that is terminated before it serves."""

from pathlib import Path

from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.helpers.waiting import soon


def test_an_endpoint_terminated_during_its_start_stops_at_once(tmp_path: Path) -> None:
    live = LiveEndpoint(tmp_path).start()
    assert soon((tmp_path / "lock").exists)  # the first thing that it makes
    assert live.stop() == 0
    with LiveEndpoint(tmp_path) as again:
        assert again.sagemaker.list_endpoints()["Endpoints"] == []
