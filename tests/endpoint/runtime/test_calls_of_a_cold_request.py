"""How many calls one cold request makes in the endpoint's process: the same on every machine, however busy."""

import json
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.call_windows import WINDOWS, Calls, CallWindows

COLD = Calls(295, 137)
"""What was counted, up to the answer, and a few more. Raise it only with the reason in the changelog."""


def test_the_first_request_for_a_model(tmp_path: Path) -> None:
    windows = CallWindows(tmp_path)
    with LiveEndpoint(tmp_path / "data", environment=windows.variables, frameworks=True) as live:
        put(live.folder("models"), {f"{number}.tar": constant(1.0) for number in range(WINDOWS)})
        live.deploy("counted", Variant({"Image": "torpor", "Mode": "MultiModel", "ModelDataUrl": "s3://models/"}))
        [windows.pid] = live.worker_pids()
        numbers = iter(range(WINDOWS))
        with closing(HTTPConnection(live.url.removeprefix("http://"))) as connection:

            def call() -> None:
                headers = {"Content-Type": "text/csv", "X-Amzn-SageMaker-Target-Model": f"{next(numbers)}.tar"}
                connection.request("POST", "/endpoints/counted/invocations", "0", headers)
                answer = connection.getresponse()
                assert (answer.status, json.loads(answer.read())) == (200, [1.0])

            windows.check(COLD, 1, call)
