"""Every situation in which InvokeEndpoint fails: its code, status, text and headers, through boto3 and raw HTTP."""

import os
import pickle
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import ACCOUNT, LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, put
from tests.endpoint.services.helpers.runtime_answers import code_and_status, members, raw, refusal
from tests.helpers.waiting import until

GOOD = {"TargetModel": "good.json"}
ARTIFACTS = {
    "no-tar.tar.gz": b"hello",
    "strange.tar.gz": packed({"notes.txt": b"no model"}),
}
MIB = 1024 * 1024


@dataclass(frozen=True)
class Row:
    """One line of the error table."""

    situation: str
    code: str
    status: int
    text: str = ""  # the message; of a ModelError, how OriginalMessage begins
    original_status: int | None = None
    endpoint: str = "Houses"
    request: Mapping[str, str] = field(default_factory=lambda: GOOD)
    body: bytes = ROW
    error_code: str | None = None


def validation(situation: str, text: str, **rest: Any) -> Row:
    return Row(situation, "ValidationError", 400, text, **rest)


def model_error(situation: str, status: int, original: str, target: str = "good.json", **rest: Any) -> Row:
    kind = "CLIENT_ERROR_FROM_MODEL" if 400 <= status < 500 else "INTERNAL_FAILURE_FROM_MODEL"
    return Row(situation, "ModelError", 424, original, status, request={"TargetModel": target}, error_code=kind, **rest)


ARN = f"arn:aws:sagemaker:us-east-1:{ACCOUNT}:endpoint/houses"
MISSING_OBJECT = "Failed to download model data (bucket: houses, key: models/none.tar.gz). Please ensure that there is "
NO_COMPONENT = "Inference Component Name header is not allowed for endpoints to which you dont plan"
NO_HOST = "Endpoint Houses takes no TargetContainerHostname"

ROWS = (
    validation("unknown endpoint", f"Endpoint Nowhere of account {ACCOUNT} not found.", endpoint="Nowhere"),
    validation("wrong letter case", f"Endpoint houses of account {ACCOUNT} not found.", endpoint="houses"),
    validation("an ARN for a name", f"Endpoint {ARN} of account {ACCOUNT} not found.", endpoint=ARN),
    validation("failed endpoint", f"Endpoint Failed of account {ACCOUNT} not found.", endpoint="Failed"),
    validation("no target model", "Request {request_id} is missing a target model header", request={}),
    validation(
        "target model on a single-model endpoint",
        "Endpoint Solo is not a multi-model endpoint and does not support target model header.",
        endpoint="Solo",
        error_code="TARGET_MODEL_HEADER_NOT_SUPPORTED",
    ),
    validation("no such object", MISSING_OBJECT, request={"TargetModel": "none.tar.gz"}),
    validation("not a tar", "Model data (key: models/no-tar.tar.gz) cannot", request={"TargetModel": "no-tar.tar.gz"}),
    validation("forbidden target", "Target model '../x.tar.gz' has a", request={"TargetModel": "../x.tar.gz"}),
    validation("target too long", "1 validation error detected: Value 'xxx", request={"TargetModel": "x" * 1025}),
    validation(
        "unknown variant", "Endpoint Houses has no production variant B", request={**GOOD, "TargetVariant": "B"}
    ),
    validation("component", NO_COMPONENT, request={**GOOD, "InferenceComponentName": "c"}),
    validation("container hostname", NO_HOST, request={**GOOD, "TargetContainerHostname": "c"}),
    Row("oversize", "413", 413, "HTTP content length exceeded 6291456 bytes.", body=bytes(6 * MIB + 1)),
    validation(
        "oversize, serverless", "Request {request_id} has oversize body.", endpoint="Less", body=bytes(4 * MIB + 1)
    ),
    model_error("handler raised", 500, "no such house: 1,2,3,4\nTraceback (most recent", "raising.tar.gz"),
    model_error("load failed", 500, "the weights are not here", "unloadable.tar.gz"),
    model_error("unknown format", 500, "no model file of a known format", "strange.tar.gz"),
    model_error("model refused the body", 400, '{"code": 400, "type": "BadRequestException"', body=b"a,b"),
    model_error("no room for the model", 507, "good.json cannot be loaded: it needs", endpoint="Cramped"),
    model_error("container crashed", 0, "Amazon SageMaker could not get a response from the F", endpoint="Fragile"),
)


class Crash:
    """A pickle that ends the process that loads it."""

    def __reduce__(self) -> tuple[Any, tuple[int]]:
        return os._exit, (3,)


@pytest.fixture(scope="module")
def estate(live: LiveEndpoint, houses: str) -> LiveEndpoint:
    """The endpoints that the table's rows name."""
    put(live.folder("houses"), {f"models/{name}": body for name, body in ARTIFACTS.items()})
    put(live.folder("houses"), {"solo/model.tar.gz": packed({"model.json": booster()})})
    put(live.folder("fragile"), {"good.json": packed({"model.pkl": pickle.dumps(Crash())})})
    less = {"ServerlessConfig": {"MemorySizeInMB": 1024, "MaxConcurrency": 1}}
    live.create("Failed", Variant(one("houses/solo/none.tar.gz")))
    live.create("Solo", Variant(one("houses/solo/model.tar.gz")))
    live.create("Cramped", Variant(many("houses/models", {"TORPOR_MEMORY_MIB": "1"})))
    live.create("Fragile", Variant(many("fragile", {"TORPOR_TRIALS": "false"})))
    live.deploy("Less", Variant(many("houses/models"), members=less))
    assert {name: live.settled(name)["EndpointStatus"] for name in ("Failed", "Solo", "Cramped", "Fragile")} == {
        "Failed": "Failed",
        "Solo": "InService",
        "Cramped": "InService",
        "Fragile": "InService",
    }
    return live


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.situation)
def test_a_failed_invocation_is_the_client_error_that_aws_gives(estate: LiveEndpoint, row: Row) -> None:
    response = refusal(lambda: estate.invoke(row.endpoint, row.body, **row.request))
    meta = response["ResponseMetadata"]
    assert code_and_status(response) == (row.code, row.status)
    assert meta["RequestId"] == meta["HTTPHeaders"]["x-amzn-requestid"]
    assert meta["HTTPHeaders"].get("x-amzn-errortype") == (None if row.code == "413" else f"{row.code}:")
    assert "server-timing" in meta["HTTPHeaders"]
    if row.original_status is None:
        assert response["Error"]["Message"].startswith(row.text.format(request_id=meta["RequestId"]))
    else:
        check_model_error(response, row)


def check_model_error(response: dict[str, Any], row: Row) -> None:
    """AWS: the container answered: its status and body; the platform did: 0 and its own words."""
    original, group = response["OriginalMessage"], f"/aws/sagemaker/Endpoints/{row.endpoint}"
    kind = "client" if 400 <= (row.original_status or 0) < 500 else "server"
    assert response["OriginalStatusCode"] == row.original_status
    assert original.startswith(row.text)
    assert response["LogStreamArn"] == f"arn:aws:logs:us-east-1:{ACCOUNT}:log-group:{group}"
    assert response["Error"]["Message"] == (
        f'Received {kind} error ({row.original_status}) from primary with message "{original[:2048]}". '
        f"See `torpor logs {row.endpoint}` or the log group {group} for more information."
    )


@pytest.mark.parametrize("row", [row for row in ROWS if row.error_code], ids=lambda row: row.situation)
def test_the_wire_has_the_error_code_that_sdks_drop(estate: LiveEndpoint, row: Row) -> None:
    headers = {"x_amzn_sagemaker_target_model": row.request["TargetModel"], "content_type": "text/csv"}
    status, answered, body = raw(f"{estate.url}/endpoints/{row.endpoint}/invocations", row.body, **headers)
    assert (status, answered["content-type"]) == (row.status, "application/json")
    assert members(body)["ErrorCode"] == row.error_code


def test_an_error_body_that_is_too_large_is_not_kept(estate: LiveEndpoint) -> None:
    response = refusal(lambda: estate.invoke("Houses", ROW, TargetModel="verbose.tar.gz"))
    text = "Received server error (500) from primary and could not load the entire response body."
    assert response["Error"]["Message"].startswith(text)
    assert response["OriginalStatusCode"] == 500
    assert len(response["OriginalMessage"]) < 10_000


def test_a_serverless_variant_over_its_concurrency_throttles_with_a_null_message(
    estate: LiveEndpoint, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(estate.invoke, "Less", str(pipe).encode(), TargetModel="waiting.tar.gz")
        with pipe.open("w") as held:  # opens when the first call is inside its model
            response = refusal(lambda: estate.invoke("Less", ROW, **GOOD))
            held.write("done")
        assert first.result()["Body"] == b"done"
    assert code_and_status(response) == ("ThrottlingException", 400)
    assert not response["Error"].get("Message")


def test_an_endpoint_that_is_deleted_is_unknown_again(live: LiveEndpoint, models: str) -> None:
    live.deploy("Passing", Variant(many(models)))
    live.sagemaker.delete_endpoint(EndpointName="Passing")
    until(lambda: not live.sagemaker.list_endpoints(NameContains="Passing")["Endpoints"])
    response = refusal(lambda: live.invoke("Passing", ROW, **GOOD))
    assert response["Error"]["Message"] == f"Endpoint Passing of account {ACCOUNT} not found."


def test_an_endpoint_that_answers_at_once_takes_no_asynchronous_request(live: LiveEndpoint, houses: str) -> None:
    status, headers, body = raw(f"{live.url}/endpoints/{houses}/async-invocations", ROW)
    assert (status, headers["x-amzn-errortype"]) == (400, "ValidationError:")
    assert "its configuration has no AsyncInferenceConfig" in members(body)["Message"]
