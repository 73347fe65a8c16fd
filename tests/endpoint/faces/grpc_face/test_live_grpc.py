"""The Open Inference Protocol over gRPC, with verified callers: each call is answered as its request over REST."""

import random
import struct
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from tests.endpoint.faces.conftest import MODELS
from tests.endpoint.faces.test_fuzzed_bodies import broken
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import ROW, predicted, put
from tests.helpers.ports import free_port
from torpor_endpoint.faces.grpc_face.grpc_messages import PACKAGE, REPOSITORY, SERVICE, STREAM, message

CELLS = [float(cell) for cell in ROW.split(b",")]
RAW = struct.pack("<4f", *CELLS)
CODE = grpc.StatusCode
Served = tuple[LiveEndpoint, grpc.Channel]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    port = free_port()
    with LiveEndpoint(tmp_path_factory.mktemp("grpc"), "--auth", "--grpc-port", str(port)) as live:
        put(live.folder("faced"), {f"models/{name}": body for name, body in MODELS.items()})
        live.deploy("Faced", Variant(many("faced/models")))
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield live, channel


def asked(
    served: Served,
    name: str,
    keys: tuple[str, str] | None = None,
    service: str = f"{PACKAGE}.{SERVICE}",
    /,
    **members: Any,
) -> Any:
    call = served[1].unary_unary(
        f"/{service}/{name}",
        request_serializer=message(f"{name}Request").SerializeToString,
        response_deserializer=message(f"{name}Response").FromString,
    )
    return call(message(f"{name}Request")(**members), metadata=metadata(keys or served[0].keys), timeout=60)


def metadata(keys: tuple[str, str]) -> list[tuple[str, str]]:
    return [("authorization", "Basic " + b64encode(":".join(keys).encode()).decode())]


def tensor(**contents: Any) -> dict[str, Any]:
    return {"name": "x", "shape": [1, 4], "datatype": "FP32", **contents}


def numbers(response: Any) -> list[float]:
    (output,), (raw,) = response.outputs, response.raw_output_contents
    assert (output.name, output.datatype, list(output.shape)) == ("predict", "FP32", [1])
    return list(struct.unpack("<1f", raw))


def refused(call: Callable[[], object]) -> tuple[Any, str]:
    with pytest.raises(grpc.RpcError) as error:
        call()
    found: Any = error.value
    return found.code(), found.details()


class TestGrpc:
    """On one endpoint of many models."""

    def test_tensors_come_raw_or_as_lists_and_go_raw(self, served: Served) -> None:
        raw = asked(served, "ModelInfer", model_name="good", id="7", inputs=[tensor()], raw_input_contents=[RAW])
        assert (raw.model_name, raw.id, numbers(raw)) == ("good", "7", [predicted()])
        listed = tensor(contents={"fp32_contents": CELLS})
        deep = asked(served, "ModelInfer", model_name="deep/er/Zürich", model_version="1", inputs=[listed])
        assert numbers(deep) == pytest.approx([predicted(2.0)])

    def test_a_stream_answers_each_request_and_goes_on_after_a_refusal(self, served: Served) -> None:
        kind = message("ModelInferRequest")
        call = served[1].stream_stream(
            f"/{PACKAGE}.{SERVICE}/{STREAM}",
            request_serializer=kind.SerializeToString,
            response_deserializer=message(f"{STREAM}Response").FromString,
        )
        good = kind(model_name="good", inputs=[tensor()], raw_input_contents=[RAW])
        bad = kind(model_name="good", id="b", inputs=[tensor(shape=[1, 2])], raw_input_contents=[RAW[:8]])
        first, second, third = call(iter([good, bad, good]), metadata=metadata(served[0].keys), timeout=60)
        assert numbers(first.infer_response) == numbers(third.infer_response) == [predicted()]
        assert (second.infer_response.id, "2" in second.error_message) == ("b", True)

    def test_metadata_index_and_control_are_those_over_rest(self, served: Served) -> None:
        assert asked(served, "ServerLive").live
        assert asked(served, "ServerReady").ready
        assert asked(served, "ServerMetadata").name == "torpor"
        found = asked(served, "ModelMetadata", name="good")
        assert (found.platform, list(found.inputs[0].shape)) == ("xgboost", [-1, 4])
        assert asked(served, "ModelReady", name="good").ready
        assert not asked(served, "ModelReady", name="none").ready
        asked(served, "RepositoryModelLoad", model_name="good")
        assert "good.tar.gz" in {one.name for one in asked(served, "RepositoryIndex", ready=True).models}
        index = asked(served, "RepositoryIndex", None, REPOSITORY, ready=True)
        assert "good.tar.gz" in {one.name for one in index.models}
        asked(served, "RepositoryModelUnload", None, REPOSITORY, model_name="good")
        assert "good.tar.gz" not in {one.name for one in asked(served, "RepositoryIndex", ready=True).models}
        assert asked(served, "ModelStatistics", name="good").model_stats[0].inference_stats.success.count >= 1

    @pytest.mark.parametrize(
        ("members", "code", "text"),
        [
            ({"model_name": "none", "inputs": [tensor()], "raw_input_contents": [RAW]}, CODE.NOT_FOUND, "none"),
            ({"model_name": "good", "inputs": [tensor()], "raw_input_contents": []}, CODE.INVALID_ARGUMENT, "x"),
            ({"model_name": "good", "raw_input_contents": [RAW]}, CODE.INVALID_ARGUMENT, "1 elements"),
            ({"model_name": "failing", "inputs": [tensor()], "raw_input_contents": [RAW]}, CODE.INTERNAL, "house"),
        ],
    )
    def test_a_refusal_has_a_code_and_the_faces_text(self, served: Served, members: Any, code: Any, text: str) -> None:
        found, said = refused(lambda: asked(served, "ModelInfer", **members))
        assert (found, text in said) == (code, True), said

    def test_callers_and_messages_are_checked_as_over_http(self, served: Served) -> None:
        assert refused(lambda: asked(served, "ServerMetadata", ("nobody", "x")))[0] in (
            CODE.UNAUTHENTICATED,
            CODE.PERMISSION_DENIED,
        )
        iam = served[0].client("iam")
        iam.create_user(UserName="outsider")
        keys = iam.create_access_key(UserName="outsider")["AccessKey"]
        outsider = keys["AccessKeyId"], keys["SecretAccessKey"]
        assert refused(lambda: asked(served, "ModelMetadata", outsider, name="good"))[0] is CODE.PERMISSION_DENIED
        assert len(asked(served, "RepositoryIndex", outsider).models) == 0
        large = {"model_name": "good", "inputs": [tensor()], "raw_input_contents": [bytes(8 << 20)]}
        assert refused(lambda: asked(served, "ModelInfer", **large))[0] is CODE.RESOURCE_EXHAUSTED

    def test_health_and_reflection_are_there(self, served: Served) -> None:
        health = health_pb2_grpc.HealthStub(served[1])
        answer = health.Check(health_pb2.HealthCheckRequest(service=f"{PACKAGE}.{SERVICE}"), timeout=60)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        reflection = reflection_pb2_grpc.ServerReflectionStub(served[1])
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        (listed,) = reflection.ServerReflectionInfo(iter([request]), timeout=60)
        assert f"{PACKAGE}.{SERVICE}" in {one.name for one in listed.list_services_response.service}


def mutated(dice: random.Random) -> bytes:
    """A request with members that do not fit together, or the bytes of a good one with a few that do not belong."""
    request = message("ModelInferRequest")(model_name="good", id="7")
    good = request.inputs.add(name="x", datatype="FP32", shape=[1, 4])
    good.contents.fp32_contents.extend(CELLS)
    if dice.random() < 0.5:
        return broken(dice, request.SerializeToString())
    good.datatype = dice.choice(("FP32", "BYTES", "BF16", "INT64", "", "\0", "FP16"))
    good.shape[:] = [dice.choice((0, 1, 2, 4, -1, 1 << 62)) for _ in range(dice.randint(0, 4))]
    request.model_name = dice.choice(("good", "", "none", "../good", "good%2f", "a\nb"))
    request.model_version = dice.choice(("", "1", "9" * 40, "x/y"))
    for name in dice.sample(("int_contents", "bytes_contents", "bool_contents", "fp64_contents"), dice.randint(0, 2)):
        getattr(good.contents, name).extend([b"a"] if name == "bytes_contents" else [1])
    if dice.random() < 0.5:
        request.raw_input_contents.extend(dice.randbytes(dice.choice((0, 3, 16))) for _ in range(dice.randint(1, 3)))
    request.parameters[dice.choice(("binary_data_size", "priority", ""))].int64_param = dice.choice((-1, 1 << 40))
    return bytes(request.SerializeToString())


@pytest.mark.parametrize("number", [300, pytest.param(50_000, marks=pytest.mark.thorough)])
def test_no_broken_message_is_torpors_own_failure(served: Served, number: int) -> None:
    live, channel = served
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    dice, before = random.Random(seed), live.output()
    call = channel.unary_unary(f"/{PACKAGE}.{SERVICE}/ModelInfer")
    codes: Counter[grpc.StatusCode] = Counter()
    known = {CODE.OK, CODE.INVALID_ARGUMENT, CODE.NOT_FOUND, CODE.RESOURCE_EXHAUSTED}
    for _ in range(number):
        sent, code = mutated(dice), CODE.OK
        try:
            call(sent, metadata=metadata(live.keys), timeout=60)
        except grpc.RpcError as error:
            code = error.code()
            print(*([] if code in known else [sent, error.details()]))
        codes[code] += 1
    assert codes.keys() <= known
    assert codes[CODE.INVALID_ARGUMENT] > number // 10  # many of them are broken indeed
    assert "Traceback" not in live.output().removeprefix(before)
    assert numbers(asked(served, "ModelInfer", model_name="good", inputs=[tensor(contents={"fp32_contents": CELLS})]))
