"""A whole endpoint whose instances are pods of a fake cluster: each is `torpor-container serve`."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, predicted, put
from tests.helpers.ports import free_port
from tests.helpers.processes import marked
from tests.helpers.waiting import soon
from tests.markdown import ROOT

THE_PODS_ADDRESS = re.compile(r"\b127\.(?!0\.)")
"""Each fake cluster has a loopback network of its own, and none of them is that of 127.0.0.1."""
FAKE = [sys.executable, "-m", "tests.endpoint.helpers.fake_cluster"]


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The path of its kubeconfig."""
    folder.mkdir()
    command = [*FAKE, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()  # it ends when its input does


def answered(live: LiveEndpoint) -> float:
    answer: list[float] = json.loads(live.invoke("shop", ROW, TargetModel="a.tar.gz")["Body"])
    return answer[0]


def test_an_endpoint_serves_from_pods_and_finds_them_again_when_it_was_killed(tmp_path: Path) -> None:
    file, port = tmp_path / "kubernetes.toml", free_port()
    file.write_text('image = "registry/torpor-instance:1"')
    options = ("--instances-on=kubernetes", f"--kubernetes-file={file}", f"--advertise=http://127.0.0.1:{port}")
    with cluster(tmp_path / "cluster") as kubeconfig:
        live = LiveEndpoint(tmp_path / "data", *options, environment={"KUBECONFIG": kubeconfig}, port=port)
        pods = f"SAGEMAKER_BASE_DIR={tmp_path}/cluster/pods/"
        put(live.folder("models"), {"shop/a.tar.gz": packed({"xgboost-model.json": booster()})})
        with live:
            live.deploy("shop", Variant(many("models/shop", {"TORPOR_TRIALS": "false"})))
            assert answered(live) == pytest.approx(predicted())
            (before,) = [one["id"] for variant in live.shown("shop") for one in variant["instances"]]
            log = tmp_path / "data" / "logs" / "endpoints" / "shop" / "AllTraffic" / f"{before}.log"
            assert soon(lambda: THE_PODS_ADDRESS.search(log.read_text()))
            live.kill()
            live.start()
            assert answered(live) == pytest.approx(predicted())
            assert [one["id"] for variant in live.shown("shop") for one in variant["instances"]] == [before]
            assert marked(pods)
        assert marked(pods) == []
