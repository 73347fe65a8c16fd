"""Groups of models on a live endpoint: what answers a need, what is explained, and what is refused."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.helpers.waiting import soon

SMALL = {"accuracy": 0.9, "latency_ms": {"1": 1, "101": 101}, "load_ms": {"s3": 80, "asleep": 900}}
LARGE = {"accuracy": 0.97, "latency_ms": {"1": 10}, "load_ms": {"s3": 300, "asleep": 1200}}


def group(**models: Any) -> bytes:
    return json.dumps({"usd_per_hour": 0.36, "models": {f"{name}.tar": one for name, one in models.items()}}).encode()


@pytest.fixture(scope="module")
def shop(live: LiveEndpoint) -> str:
    """An endpoint of two models and of the files that group them."""
    s3 = live.client("s3")
    s3.create_bucket(Bucket="groups")
    bodies = {
        "small.tar": constant(1.0),
        "large.tar": constant(2.0),
        "digits.group.json": group(small=SMALL, large=LARGE),
        "broken.group.json": b'{"models": {"small.tar": {"acuracy": 1}}}',
        "gone.group.json": group(nothing={}),
        "partly.group.json": group(nothing={"accuracy": 1.0}, small=SMALL),
    }
    for key, body in bodies.items():
        s3.put_object(Bucket="groups", Key=f"shop/{key}", Body=body)
    return live.deploy("Groups", Variant(many("groups/shop", {"TORPOR_GROUPS": "true"})))


def asked(live: LiveEndpoint, endpoint: str, need: str, target: str = "digits") -> tuple[float, Any]:
    """The number of the model that answered, and the headers of its answer."""
    answer = live.invoke(endpoint, b"1", TargetModel=target, CustomAttributes=need)
    return number_of(answer), answer["ResponseMetadata"]["HTTPHeaders"]


def refused(live: LiveEndpoint, endpoint: str, need: str, target: str = "digits", **more: str) -> tuple[str, str]:
    with pytest.raises(ClientError) as error:
        live.invoke(endpoint, b"1", TargetModel=target, CustomAttributes=need, **more)
    return error.value.response["Error"]["Code"], error.value.response["Error"]["Message"]


def test_the_model_that_meets_the_need_answers_and_the_answer_says_why(live: LiveEndpoint, shop: str) -> None:
    assert asked(live, shop, "min_accuracy=0.95")[0] == 2.0
    number, headers = asked(live, shop, "latency_ms=2000, min_accuracy=0.95")
    assert (number, headers["x-torpor-target-model"]) == (2.0, "large.tar")
    told = "group=digits; model=large.tar; from=memory; rows=1; latency_ms=10; accuracy=0.97; cost_usd=1e-06; "
    assert headers["x-torpor-choice"] == f"{told}not small.tar: its accuracy is 0.9"


def test_a_model_that_would_meet_the_need_once_it_is_loaded_is_loaded_for_the_next_call(
    live: LiveEndpoint, shop: str
) -> None:
    s3 = live.client("s3")
    s3.put_object(Bucket="groups", Key="shop/late.tar", Body=constant(3.0))
    s3.put_object(Bucket="groups", Key="shop/waits.group.json", Body=group(late=SMALL))
    assert soon(lambda: "group waits" in refused(live, shop, "latency_ms=0.5", "waits")[1])

    code, told = refused(live, shop, "latency_ms=20", "waits")
    assert code == "ModelNotReadyException"
    assert "late.tar will once it is in memory: it is being loaded. Try again" in told
    assert soon(lambda: answered(live, shop, "waits", "latency_ms=20") == 3.0)
    assert "from=memory" in asked(live, shop, "latency_ms=20", "waits")[1]["x-torpor-choice"]


def test_rows_of_csv_are_counted_and_make_the_prediction_longer(live: LiveEndpoint, shop: str) -> None:
    asked(live, shop, "min_accuracy=0.95, nearest=true")
    answer = live.invoke(shop, b"1\n2\n3\n", TargetModel="digits", CustomAttributes="min_accuracy=0.95")
    told = answer["ResponseMetadata"]["HTTPHeaders"]["x-torpor-choice"]
    assert "rows=3; latency_ms=30;" in told


def test_what_is_not_understood_or_not_met_is_refused_by_its_name(live: LiveEndpoint, shop: str) -> None:
    for need, target, told in (
        ("latencyms=20", "digits", "CustomAttributes: 'latencyms=20' is not understood"),
        (
            "min_accuracy=0.99",
            "digits",
            "No model of group digits meets min_accuracy=0.99: small.tar: its accuracy is 0.9",
        ),
        ("", "broken", "shop/broken.group.json is no group: models['small.tar'].acuracy is not known"),
        ("", "gone", "none of its models is there: nothing.tar"),
    ):
        assert refused(live, shop, need, target)[0] == "ValidationError"
        assert told in refused(live, shop, need, target)[1]
    assert "a session stays with one model" in refused(live, shop, "", SessionId="NEW_SESSION")[1]
    assert asked(live, shop, "min_accuracy=0.99, nearest=true")[1]["x-torpor-target-model"] == "large.tar"
    assert asked(live, shop, "min_accuracy=0.9", "partly")[0] == 1.0
    assert number_of(live.invoke(shop, b"1", TargetModel="small.tar")) == 1.0


def test_a_file_that_changes_is_read_anew_and_a_name_that_means_two_things_is_unclear(
    live: LiveEndpoint, shop: str
) -> None:
    s3 = live.client("s3")
    s3.put_object(Bucket="groups", Key="shop/moving.group.json", Body=group(small=SMALL))
    assert soon(lambda: answered(live, shop, "moving") == 1.0)
    s3.put_object(Bucket="groups", Key="shop/moving.group.json", Body=group(large=LARGE))
    assert soon(lambda: answered(live, shop, "moving") == 2.0)
    s3.put_object(Bucket="groups", Key="shop/moving", Body=constant(7.0))
    assert soon(lambda: answered(live, shop, "moving") is None)
    assert "'moving' is the key of an object and the name of a group" in refused(live, shop, "", "moving")[1]
    s3.delete_object(Bucket="groups", Key="shop/moving.group.json")
    assert soon(lambda: answered(live, shop, "moving") == 7.0)


def test_why_and_the_list_of_endpoints_tell_of_groups_and_their_choices(live: LiveEndpoint, shop: str) -> None:
    asked(live, shop, "min_accuracy=0.96")
    rows = json.loads(live.page(f"choices?endpoint={shop}&model=digits"))["choices"]
    row = next(one for one in rows if one["need"] == "min_accuracy=0.96")
    assert (row["group_name"], row["model"], row["requests"]) == ("digits", "large.tar", 1)
    assert "not small.tar: its accuracy is 0.9" in row["why"]
    of_model = json.loads(live.page(f"story?endpoint={shop}&model=large.tar"))["lines"]
    assert any("to group digits (min_accuracy=0.96)" in line["what"] for line in of_model)
    (endpoint,) = json.loads(live.page(f"endpoints?endpoint={shop}"))["endpoints"]
    groups = {one["name"]: one for one in endpoint["variants"][0]["groups"]}
    assert (groups["partly"]["models"], groups["partly"]["absent"]) == (["small.tar"], ["nothing.tar"])
    assert "acuracy is not known" in groups["broken"]["fault"]


def test_a_group_holds_models_with_versions_and_labels(live: LiveEndpoint) -> None:
    s3 = live.client("s3")
    s3.create_bucket(Bucket="grouped-versions")
    held = {"iris": {"accuracy": 0.9}, "iris@1": {"accuracy": 0.8}, "rose": {}}
    bodies = {"iris/1/m.tar": constant(1.0), "iris/2/m.tar": constant(2.0)}
    for key, body in {**bodies, "digits.group.json": json.dumps({"models": held}).encode()}.items():
        s3.put_object(Bucket="grouped-versions", Key=key, Body=body)
    both = {"TORPOR_GROUPS": "true", "TORPOR_VERSIONS": "all"}
    endpoint = live.deploy("GroupedVersions", Variant(many("grouped-versions/", both)))
    number, headers = asked(live, endpoint, "min_accuracy=0.85")
    assert (number, headers["x-torpor-target-model"]) == (2.0, "iris/2/m.tar")
    assert headers["x-torpor-choice"].startswith("group=digits; model=iris; ")
    s3.put_object(
        Bucket="grouped-versions", Key="digits.group.json", Body=json.dumps({"models": {"iris@1": {}}}).encode()
    )
    assert soon(lambda: answered(live, endpoint, "digits") == 1.0)
    live.sagemaker.delete_endpoint(EndpointName=endpoint)


def test_two_files_with_one_name_are_unclear(live: LiveEndpoint, shop: str) -> None:
    s3 = live.client("s3")
    for key in ("twice.group.json", "/twice.group.json"):
        s3.put_object(Bucket="groups", Key=f"shop/{key}", Body=group(small=SMALL))
    assert soon(lambda: answered(live, shop, "twice") is None)
    assert "two files have its name" in refused(live, shop, "", "twice")[1]
    s3.delete_object(Bucket="groups", Key="shop//twice.group.json")
    assert soon(lambda: answered(live, shop, "twice") == 1.0)


def answered(live: LiveEndpoint, endpoint: str, target: str, need: str = "") -> float | None:
    """The number of the model that answers calls of a target; None if they are refused."""
    try:
        return asked(live, endpoint, need, target)[0]
    except ClientError:
        return None
