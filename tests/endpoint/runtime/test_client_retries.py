"""boto3's own retries of the runtime API's errors, counted on the wire."""

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put, script
from tests.endpoint.services.helpers.runtime_answers import refusal

SLEEPING = "import time\ntime.sleep(600)"
# (mode, TargetModel): HTTP calls where two retries are allowed. Standard mode shows ModelNotReadyException at once.
CALLS = {
    ("legacy", "sleeping.tar.gz"): 3,
    ("standard", "sleeping.tar.gz"): 1,
    ("legacy", "good.json"): 1,
    ("standard", "good.json"): 1,
}
BAD_BODY = b"1,2"
"""The good model's answer to it is a ModelError."""


@pytest.fixture(scope="module")
def hasty(live: LiveEndpoint, models: str) -> str:
    put(live.folder("houses"), {"models/sleeping.tar.gz": script(SLEEPING)})
    return live.deploy("Hasty", Variant(many(models, {"TORPOR_READY_WAIT_SECONDS": "0.5"})))


@pytest.mark.parametrize(("mode", "target"), CALLS)
def test_boto3_calls_again_as_it_does_with_aws(live: LiveEndpoint, hasty: str, mode: str, target: str) -> None:
    client = live.client("sagemaker-runtime", retries={"max_attempts": 2 if mode == "legacy" else 3, "mode": mode})
    sent: list[object] = []
    client.meta.events.register("before-send.sagemaker-runtime", lambda request, **_: sent.append(request))
    response = refusal(
        lambda: client.invoke_endpoint(EndpointName=hasty, Body=BAD_BODY, ContentType="text/csv", TargetModel=target)
    )
    assert len(sent) == CALLS[mode, target]
    assert response["ResponseMetadata"]["RetryAttempts"] == len(sent) - 1
