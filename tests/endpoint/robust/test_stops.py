"""Any stop ends within five seconds, and an endpoint starts again at once, however the last one ended."""

from pathlib import Path

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.helpers.processes import descendants, gone, stop


def test_files_of_an_endpoint_are_closed_to_other_users(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with LiveEndpoint(data_dir) as live:
        live.client("s3").create_bucket(Bucket="bucket")
        live.client("s3").put_object(Bucket="bucket", Key="a/b", Body=b"1")
        live.sagemaker.list_models()
        open_to_others = [path for path in data_dir.rglob("*") if path.lstat().st_mode & 0o077]
        assert open_to_others == []
        assert data_dir.stat().st_mode & 0o777 == 0o700


def test_an_endpoint_whose_worker_is_stopped_is_stopped_in_time(tmp_path: Path) -> None:
    live = LiveEndpoint(tmp_path).start()
    live.sagemaker.list_models()
    below = descendants(live.pid)
    stop(live.worker_pids()[0])
    live.stop()
    assert all(gone(pid) for pid in below)


def test_an_endpoint_starts_again_at_once_when_its_arbiter_is_killed(tmp_path: Path) -> None:
    live = LiveEndpoint(tmp_path).start()
    live.client("s3").create_bucket(Bucket="bucket")
    (orphan,) = live.worker_pids()
    live.kill_arbiter()
    live.start()
    assert [bucket["Name"] for bucket in live.client("s3").list_buckets()["Buckets"]] == ["bucket"]
    assert gone(orphan)
    live.stop()


@pytest.mark.thorough
def test_an_orphan_that_does_not_end_is_killed_and_logged(tmp_path: Path) -> None:
    live = LiveEndpoint(tmp_path).start()
    live.sagemaker.list_models()
    (orphan,) = live.worker_pids()
    stop(orphan)
    live.kill_arbiter()
    with LiveEndpoint(tmp_path) as again:
        again.sagemaker.list_models()
        assert gone(orphan)
        assert "is in use: waiting up to" in again.output()
        assert f"killing process {orphan}: its parent was killed, and it does not end by itself" in again.output()
