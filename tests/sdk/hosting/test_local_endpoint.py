"""`torpor.local`, end to end: real processes, real models, boto3 underneath."""

import os
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pandas as pd
import pytest
from botocore.exceptions import ClientError

import torpor
from tests.helpers.thorough_values import thorough
from tests.sdk.helpers.small_models import CITIES, ROWS, answers, train_booster
from torpor.demo import until_asleep
from torpor.errors import EndpointFailed, EndpointUnreachable
from torpor.hosting.endpoint_deployment import EndpointPlan, deploy
from torpor.hosting.endpoint_process import ChildEndpoint, Start
from torpor.hosting.shared_process import SharedProcess


def test_every_model_of_the_folder_gives_its_own_answer(endpoint: torpor.Local) -> None:
    for number, city in enumerate(CITIES):
        assert endpoint.invoke(city, ROWS) == pytest.approx((answers()[:3] + 100 * number).tolist(), abs=3)


def test_a_raw_answer_is_boto3s_answer(endpoint: torpor.Local) -> None:
    answer = endpoint.invoke_raw(CITIES[0], ROWS, accept="text/csv")
    assert answer["ContentType"] == "text/csv"
    assert answer["InvokedProductionVariant"] == endpoint.variant
    assert len(answer["Body"].read().split(b",")) == 3


def test_a_model_put_later_is_called_at_once(endpoint: torpor.Local, tmp_path: Path) -> None:
    artifact = torpor.bundle(train_booster(shift=5000.0), tmp_path / "late.tar.gz")
    assert endpoint.put(artifact.read_bytes(), key="new/late.tar.gz") == "new/late.tar.gz"
    assert endpoint.invoke("new/late.tar.gz", ROWS) == pytest.approx((answers()[:3] + 5000).tolist(), rel=0.01)
    with pytest.raises(TypeError, match="key="):
        endpoint.put(b"no name")


def test_a_model_that_is_replaced_answers_from_the_next_call_on(endpoint: torpor.Local, models: Path) -> None:
    answers = [endpoint.invoke(city, ROWS) for city in CITIES[:2]]
    assert answers[0] != answers[1]
    for city, answer in [*zip(CITIES, answers, strict=False), (CITIES[0], answers[0])][:3]:
        endpoint.put((models / city).read_bytes(), key="replaced.tar.gz")
        assert endpoint.invoke("replaced.tar.gz", ROWS) == answer


def test_a_model_is_unloaded_and_reloaded_by_its_name(endpoint: torpor.Local, models: Path) -> None:
    target = endpoint.put((models / CITIES[0]).read_bytes(), key="gone.tar.gz")
    endpoint.invoke(target, ROWS)
    assert [(one.was, one.in_flight) for one in endpoint.unload(target)] == [("resident", 0)]
    assert [one.was for one in endpoint.reload(target)] == ["absent"]
    assert target not in [model.name for model in endpoint.models()]
    with pytest.raises(torpor.TorporError, match=r"'\.' or '\.\.' segment"):
        endpoint.reload("../x")


def test_a_frames_columns_go_by_their_names_in_any_order(endpoint: torpor.Local, tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c", "d"])
    booster = train_booster(rounds=20)
    booster.feature_names = list(frame)
    endpoint.put(torpor.bundle(booster, tmp_path / "named.tar.gz"))
    expected = endpoint.invoke("named.tar.gz", ROWS)
    assert endpoint.invoke("named.tar.gz", frame[["d", "b", "a", "c"]]) == expected
    with pytest.raises(ClientError, match="unknown: e; missing: d"):
        endpoint.invoke("named.tar.gz", frame.rename(columns={"d": "e"}))


def test_a_missing_model_is_awss_own_error(endpoint: torpor.Local) -> None:
    with pytest.raises(ClientError, match="Failed to download model data"):
        endpoint.invoke("nowhere.tar.gz", ROWS)


@pytest.mark.thorough
def test_an_eviction_under_memory_pressure_names_the_model_that_needed_the_room(
    shared: SharedProcess, tmp_path: Path
) -> None:
    large = train_booster(rounds=800, eta=0.01)  # 10 MiB: two instances differ by fewer
    for city in CITIES:
        torpor.bundle(large, tmp_path / city)
    boosters = {"TORPOR_TREES": "library"}  # flat trees of the first instance would be small in the second
    with shared.local(tmp_path, name="tight", memory_mib=1024, environment=boosters) as roomy:
        for city in CITIES:
            roomy.invoke(city, ROWS)
        assert len(roomy.models()) == len(CITIES)
        [instance] = roomy.instances()
        usual_bytes = sorted(model.size_bytes for model in instance.models)[2]
        roomy.deploy(memory_mib=(instance.used_bytes - 2.5 * usual_bytes) / 2**20)
        for city in CITIES:
            assert len(roomy.invoke(city, ROWS)) == 3
        resident = {model.name for model in roomy.models()}
        gone = next((city for city in CITIES if city not in resident), None)
        assert gone is not None, f"{instance} has all of them, and so have {roomy.instances()}"
        assert any(decision.action == "evict" and decision.for_model for decision in roomy.why(gone).decisions)


def test_a_data_folder_keeps_everything_for_the_next_time(models: Path, tmp_path: Path) -> None:
    with torpor.local(models, data_dir=tmp_path / "kept") as first:
        answer = first.invoke(CITIES[1], ROWS)
    with torpor.local(data_dir=tmp_path / "kept") as second:
        assert second.invoke(CITIES[1], ROWS) == answer


def test_nothing_is_left_of_a_temporary_one() -> None:
    with ChildEndpoint() as process:
        process.until_ready()
        assert process.bucket_folder("some-bucket").is_dir()
    assert not process.data_dir.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_the_error_of_an_endpoint_that_cannot_start_has_its_output(tmp_path: Path) -> None:
    (tmp_path / "torpor.sqlite").write_text("this is no database " * 100)
    with pytest.raises(EndpointFailed, match="file is not a database"):
        ChildEndpoint(Start(tmp_path)).until_ready()


def test_the_error_of_a_failed_deployment_has_the_reason(models: Path) -> None:
    with pytest.raises(EndpointFailed, match="The image nobodys:1 "):
        torpor.local(models, image="nobodys:1")


def test_a_setting_that_is_none_is_named(shared: SharedProcess) -> None:
    with pytest.raises(EndpointFailed, match="MRU"):
        shared.local(environment={"TORPOR_POLICY": "MRU"})


@pytest.mark.thorough
def test_a_failed_endpoint_in_a_kept_folder_is_replaced(models: Path, tmp_path: Path) -> None:
    with pytest.raises(EndpointFailed, match="The image nobodys:1 "):
        torpor.local(models, image="nobodys:1", data_dir=tmp_path / "kept")
    with torpor.local(data_dir=tmp_path / "kept") as mended:
        assert len(mended.invoke(CITIES[0], ROWS)) == 3


def test_a_failed_update_raises_the_reason_and_keeps_the_old_deployment(shared: SharedProcess, models: Path) -> None:
    with shared.local(models) as endpoint:
        with pytest.raises(EndpointFailed, match="The image nobodys:1 "):
            deploy(
                endpoint.client("sagemaker"), EndpointPlan(endpoint.name, endpoint.model_data_url, image="nobodys:1")
            )
        endpoint.deploy()
        assert len(endpoint.invoke(CITIES[0], ROWS)) == 3


def test_an_instance_type_with_a_gpu_that_is_not_there_is_refused_with_what_to_do(shared: SharedProcess) -> None:
    with pytest.raises(EndpointFailed, match=r"no device for TORPOR_DEVICE=cuda:0.* `torpor up --device cpu`"):
        shared.local(name="on-gpu", instance_type="ml.g5.xlarge")


@pytest.mark.parametrize("memory_mib", [1000, 1025])  # the first is refused by boto3 already
def test_a_plan_that_sagemaker_refuses_raises_endpoint_failed(endpoint: torpor.Local, memory_mib: int) -> None:
    refused = EndpointPlan(
        "refused", endpoint.model_data_url, serverless={"MemorySizeInMB": memory_mib, "MaxConcurrency": 1}
    )
    with pytest.raises(EndpointFailed, match=r"(?i)memorySizeInMB"):
        deploy(endpoint.client("sagemaker"), refused)


def test_a_folder_in_use_is_refused_in_one_line(endpoint: torpor.Local) -> None:
    with pytest.raises(EndpointFailed, match=r"^another endpoint uses [^\n]+$"):
        torpor.local(data_dir=endpoint.data_dir)


def test_the_error_of_an_endpoint_that_ends_at_once_is_only_its_reason() -> None:
    with pytest.raises(EndpointFailed, match=r"^the endpoint did not start: --log-level: choose one of [^\n]+$"):
        torpor.local(log_level="loud")


def test_an_endpoint_that_closes_its_socket_as_it_ends_has_only_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(endpoint: ChildEndpoint) -> None:
        raise EndpointUnreachable(endpoint.url) from URLError(ConnectionResetError())

    monkeypatch.setattr(ChildEndpoint, "_answer", closed)
    with pytest.raises(EndpointFailed, match=r"^the endpoint did not start: --log-level: choose one of [^\n]+$"):
        torpor.local(log_level="loud")


def test_a_number_of_the_wrong_kind_is_named_by_its_setting(shared: SharedProcess) -> None:
    with pytest.raises(EndpointFailed, match="TORPOR_MEMORY_MIB is 'plenty'"):
        shared.local(memory_mib="plenty")  # as whoever reads it from a variable


@pytest.mark.parametrize("capacity", [{"serverless": 2048}, *thorough({"instance_count": 1})])
def test_an_endpoint_sleeps_without_calls_and_wakes_for_a_call(
    shared: SharedProcess, models: Path, capacity: dict[str, Any]
) -> None:
    with shared.local(models, name="sleeper", sleep_after_s=0.2, **capacity) as sleeper:
        answer = sleeper.invoke(CITIES[0], ROWS)
        until_asleep(sleeper)
        assert sleeper.instances() == []
        assert sleeper.invoke(CITIES[0], ROWS) == answer
        assert len(sleeper.instances()) == 1


def test_the_repr_of_an_endpoint_has_its_url(endpoint: torpor.Local) -> None:
    assert repr(endpoint) == f"<torpor.Local 'shared' at {endpoint.url}>"


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="no folder of model artifacts"):
        torpor.local(tmp_path / "nowhere")


STREAMING = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    yield "one"
    yield "two"
    if str(body) == "break":
        raise ValueError("no more")
"""


def test_a_stream_gives_the_parts_that_the_script_makes(endpoint: torpor.Local, tmp_path: Path) -> None:
    (tmp_path / "inference.py").write_text(STREAMING)
    endpoint.put(torpor.bundle(None, tmp_path / "streaming.tar.gz", script=tmp_path / "inference.py"))
    assert list(endpoint.stream("streaming.tar.gz", "go")) == [b"one", b"two"]
    broken = endpoint.stream("streaming.tar.gz", "break")
    assert [next(broken), next(broken)] == [b"one", b"two"]
    with pytest.raises(ClientError, match="no more"):
        next(broken)
    assert endpoint.invoke("streaming.tar.gz", "go", accept="text/plain") == b"onetwo"
