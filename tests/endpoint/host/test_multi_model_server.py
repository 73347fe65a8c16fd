"""Multi Model Server, a real foreign container, behind the endpoint: its artifacts hold a `service.py` and weights."""

import importlib.util
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.helpers.processes import marked
from tests.helpers.waiting import soon

pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Multi Model Server needs Java"),
    pytest.mark.skipif(importlib.util.find_spec("mms") is None, reason="multi-model-server is not installed"),
]

IMAGES = Path(__file__).parents[3] / "examples" / "images" / "multi-model-server.toml"
SERVICE = """
import json
import os

NAMES = ("Target-Model", "Custom-Attributes", "Inference-Id", "Target-Variant", "Session-Id", "Prefix-Aware-Id")
WEIGHTS = None

def handle(data, context):
    global WEIGHTS
    if WEIGHTS is None:
        WEIGHTS = open(os.path.join(context.system_properties["model_dir"], "weights")).read()
        print("weights read:", WEIGHTS, flush=True)
    if data and bytes(data[0]["body"]) == b"headers":
        names = ("Content-Type", "Accept", *(f"X-Amzn-SageMaker-{name}" for name in NAMES))
        return [json.dumps({name: context.get_request_header(0, name) for name in names})]
    if WEIGHTS == "huge":
        raise MemoryError("huge")
    return [f"{WEIGHTS} of {bytes(row['body']).decode()}" for row in data or ()]
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("mms"), "--images", str(IMAGES)) as endpoint:
        models = endpoint.folder("models") / "words"
        models.mkdir()
        for name in ("alpha", "beta", "huge"):
            put(models, name)
        container = many("models/words", Image="multi-model-server:1.1.11")
        endpoint.deploy("words", Variant(container))
        yield endpoint


def put(folder: Path, name: str) -> None:
    (folder / "service.py").write_text(SERVICE)
    (folder / "weights").write_text(name)
    with tarfile.open(folder / f"{name}.tar.gz", "w:gz") as archive:
        for file in ("service.py", "weights"):
            archive.add(folder / file, file)


def test_its_models_are_loaded_when_a_request_names_them(live: LiveEndpoint) -> None:
    first = live.invoke("words", b"1,2", TargetModel="alpha.tar.gz")
    again = live.invoke("words", b"3", TargetModel="alpha.tar.gz")
    other = live.invoke("words", b"4", TargetModel="beta.tar.gz")
    assert (first["Body"], again["Body"], other["Body"]) == (b"alpha of 1,2", b"alpha of 3", b"beta of 4")
    [variant] = live.shown("words")
    [container] = variant["instances"][0]["containers"]
    assert {"alpha.tar.gz", "beta.tar.gz"} <= {model["name"] for model in container["models"]}


def test_its_handler_finds_each_header_by_the_name_that_aws_gives_it(live: LiveEndpoint) -> None:
    members = {
        "CustomAttributes": "trace=7",
        "InferenceId": "id-1",
        "TargetVariant": "AllTraffic",
        "Accept": "x/y",
        "SessionId": "NEW_SESSION",
        "PrefixAwareId": "app-1",
    }
    answer = live.invoke("words", b"headers", TargetModel="alpha.tar.gz", **members)
    assert json.loads(answer["Body"]) == {
        "Content-Type": "text/csv",
        "Accept": "x/y",
        "X-Amzn-SageMaker-Target-Model": "alpha.tar.gz",
        "X-Amzn-SageMaker-Custom-Attributes": "trace=7",
        "X-Amzn-SageMaker-Inference-Id": "id-1",
        "X-Amzn-SageMaker-Target-Variant": "AllTraffic",
        "X-Amzn-SageMaker-Session-Id": "NEW_SESSION",
        "X-Amzn-SageMaker-Prefix-Aware-Id": "app-1",
    }


@pytest.mark.thorough
def test_a_model_without_memory_is_a_507_each_time_and_leaves_nothing_dead_behind(live: LiveEndpoint) -> None:
    for _ in range(2):
        with pytest.raises(ClientError) as caught:
            live.invoke("words", b"1", TargetModel="huge.tar.gz")
        assert caught.value.response["OriginalStatusCode"] == 507
    assert live.invoke("words", b"5", TargetModel="alpha.tar.gz")["Body"] == b"alpha of 5"


def test_output_of_multi_model_server_is_in_the_instances_log(live: LiveEndpoint) -> None:
    live.invoke("words", b"1", TargetModel="beta.tar.gz")
    logs = list((live.data_dir / "logs" / "endpoints" / "words" / "AllTraffic").glob("i-*.log"))
    assert any("weights read: beta" in log.read_text(errors="replace") for log in logs)


@pytest.mark.thorough
def test_a_deleted_endpoint_leaves_neither_java_nor_its_workers(live: LiveEndpoint) -> None:
    container = many("models/words", {"MARK": "of-this-test"}, Image="multi-model-server:1.1.11")
    live.deploy("gone", Variant(container))
    assert live.invoke("gone", b"1", TargetModel="alpha.tar.gz")["Body"] == b"alpha of 1"
    assert marked("MARK=of-this-test")
    live.sagemaker.delete_endpoint(EndpointName="gone")
    assert soon(lambda: not marked("MARK=of-this-test"), 60.0)
