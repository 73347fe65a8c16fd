"""Versions of a model on a live endpoint: what a target means, switches and labels, and what is refused."""

import json
import sqlite3
from contextlib import closing
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from botocore.exceptions import ClientError

import torpor
from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.restless_callers import Callers, runtime
from tests.helpers.waiting import soon
from torpor.workloads import LedgerFile

VERSION = "x-torpor-target-model"


@pytest.fixture(scope="module")
def shop(live: LiveEndpoint) -> str:
    """An endpoint of two versions of one model, of a plain model, and of a folder that is no version."""
    s3 = live.client("s3")
    s3.create_bucket(Bucket="versions")
    for key, number in {"iris/1/m.tar": 1.0, "iris/2/m.tar": 2.0, "plain.tar": 9.0, "iris/notes/m.tar": 8.0}.items():
        s3.put_object(Bucket="versions", Key=f"shop/{key}", Body=constant(number))
    environment = {"TORPOR_VERSIONS": "all", "TORPOR_FED_BY": "lily=Lilies"}
    return live.deploy("Versions", Variant(many("versions/shop", environment)))


def answered(live: LiveEndpoint, endpoint: str, target: str) -> float:
    return number_of(live.invoke(endpoint, b"1", TargetModel=target))


def refused(live: LiveEndpoint, endpoint: str, target: str) -> str:
    with pytest.raises(ClientError) as error:
        live.invoke(endpoint, b"1", TargetModel=target)
    assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return str(error.value)


def page(live: LiveEndpoint, endpoint: str, model: str) -> Any:
    [found] = json.loads(live.page(f"versions?{urlencode({'endpoint': endpoint, 'model': model})}"))["models"]
    return found


def label(live: LiveEndpoint, endpoint: str, model: str, **asked: str) -> Any:
    query = urlencode({"endpoint": endpoint, "model": model, **asked})
    with urlopen(Request(f"{live.url}/_torpor/labels?{query}", method="POST")) as answer:
        return json.load(answer)["models"][0]


def not_moved(live: LiveEndpoint, endpoint: str, model: str, **asked: str) -> str:
    with pytest.raises(HTTPError) as error:
        label(live, endpoint, model, **asked)
    return f"{error.value.code} {error.value.read().decode()}"


def test_a_target_names_a_version_or_the_newest_and_plain_keys_stay_keys(live: LiveEndpoint, shop: str) -> None:
    targets = ("iris", "iris@1", "iris@2", "plain.tar", "iris/notes/m.tar", "iris/1/m.tar")
    assert [answered(live, shop, target) for target in targets] == [2.0, 1.0, 2.0, 9.0, 8.0, 1.0]
    headers = live.invoke(shop, b"1", TargetModel="iris")["ResponseMetadata"]["HTTPHeaders"]
    assert headers[VERSION] == "iris/2/m.tar"
    assert VERSION not in live.invoke(shop, b"1", TargetModel="plain.tar")["ResponseMetadata"]["HTTPHeaders"]


def test_statistics_have_a_row_for_each_version(live: LiveEndpoint, shop: str) -> None:
    assert [answered(live, shop, target) for target in ("iris@1", "iris@2", "iris@1")] == [1.0, 2.0, 1.0]

    def counts(path: str) -> dict[tuple[str, str], int]:
        with urlopen(Request(f"{live.url}/v2/models{path}", headers={"X-Torpor-Endpoint": shop})) as answer:
            return {(one["name"], one["version"]): one["inference_count"] for one in json.load(answer)["model_stats"]}

    every = counts("/stats")
    assert every["iris", "1"] >= 2
    assert every["iris", "2"] >= 1
    assert counts("/iris/stats").keys() == {("iris", "1"), ("iris", "2")}
    assert counts("/iris/versions/2/stats") == {("iris", "2"): every["iris", "2"]}


def test_what_names_no_version_is_refused_with_what_there_is(live: LiveEndpoint, shop: str) -> None:
    assert "model iris has no version 7; versions that may answer: 1, 2." in refused(live, shop, "iris@7")
    assert "model iris has no label canary; labels: none" in refused(live, shop, "iris@canary")


def test_a_new_version_is_loaded_beside_takes_over_and_goes_back_by_one_call(live: LiveEndpoint, shop: str) -> None:
    s3 = live.client("s3")
    s3.put_object(Bucket="versions", Key="shop/rose/1/m.tar", Body=constant(1.0))
    assert answered(live, shop, "rose") == 1.0  # told by the S3 before the writer had its answer
    s3.put_object(Bucket="versions", Key="shop/rose/2/m.tar", Body=constant(2.0))
    assert soon(lambda: page(live, shop, "rose")["default"] == 2)
    assert [one["resident"] != [] for one in page(live, shop, "rose")["versions"]] == [True, True]
    first = live.invoke(shop, b"1", TargetModel="rose")
    assert number_of(first) == 2.0
    assert "load;dur" not in first["ResponseMetadata"]["HTTPHeaders"]["server-timing"]
    assert label(live, shop, "rose", label="default", version="1")["default"] == 1
    assert answered(live, shop, "rose") == 1.0
    assert label(live, shop, "rose", label="default", back="true")["default"] == 2
    assert answered(live, shop, "rose") == 2.0


def test_a_deleted_version_answers_no_call_that_begins_after_it(live: LiveEndpoint, shop: str) -> None:
    s3 = live.client("s3")
    for number in (1, 2):
        s3.put_object(Bucket="versions", Key=f"shop/tulip/{number}/m.tar", Body=constant(float(number)))
    assert soon(lambda: answered(live, shop, "tulip") == 2.0)
    assert label(live, shop, "tulip", label="canary", version="2")["labels"] == {"canary": 2}
    assert answered(live, shop, "tulip@canary") == 2.0
    s3.delete_object(Bucket="versions", Key="shop/tulip/2/m.tar")
    assert answered(live, shop, "tulip") == 1.0
    assert "has no label canary" in refused(live, shop, "tulip@canary")
    assert soon(lambda: [one["version"] for one in page(live, shop, "tulip")["versions"]] == [1])
    assert soon(lambda: "tulip/2/m.tar" not in json.dumps(live.shown(shop)))


def test_a_version_that_cannot_be_loaded_takes_over_nothing(live: LiveEndpoint, shop: str) -> None:
    s3 = live.client("s3")
    s3.put_object(Bucket="versions", Key="shop/fern/1/m.tar", Body=constant(1.0))
    assert answered(live, shop, "fern") == 1.0
    s3.put_object(Bucket="versions", Key="shop/fern/2/m.tar", Body=b"no archive")
    assert soon(lambda: page(live, shop, "fern")["versions"][1]["fault"] != "")
    assert page(live, shop, "fern")["waits"] == {"default": 2}
    assert answered(live, shop, "fern") == 1.0
    assert label(live, shop, "fern", label="stable", version="1")["labels"] == {"stable": 1}
    told = not_moved(live, shop, "fern", label="stable", version="2")
    assert told.startswith("409 version 2 of model fern cannot be loaded: ")
    assert page(live, shop, "fern")["labels"] == {"stable": 1}


def test_a_label_that_cannot_move_is_refused_and_nothing_changes(live: LiveEndpoint, shop: str) -> None:
    for asked, why in (
        ({"label": "stable", "version": "7"}, "400 version 7 of model iris is not there; there are: 1, 2"),
        ({"label": "9lives", "version": "1"}, "400 label '9lives' must be a letter"),
        ({"label": "stable", "version": "one"}, "400 version='one' must be a whole number"),
        ({"label": "gone"}, "400 model iris has no label gone"),
        ({"label": "gone", "back": "true"}, "400 label gone of model iris has not moved yet"),
        ({"label": "gone", "back": "perhaps"}, "400 back='perhaps' must be true"),
    ):
        assert not_moved(live, shop, "iris", **asked).startswith(why)
    none = not_moved(live, shop, "nothing", label="stable", version="1")
    assert none.startswith("400 endpoint Versions has no versions of a model 'nothing'")
    assert page(live, shop, "iris")["labels"] == {}


def test_a_name_that_is_both_a_key_and_a_folder_is_refused_until_one_is_moved(live: LiveEndpoint, shop: str) -> None:
    s3 = live.client("s3")
    s3.put_object(Bucket="versions", Key="shop/moss/1/m.tar", Body=constant(1.0))
    s3.put_object(Bucket="versions", Key="shop/moss", Body=constant(5.0))
    assert "'moss' is the key of an object, and 'moss' is a folder of versions" in refused(live, shop, "moss")
    s3.delete_object(Bucket="versions", Key="shop/moss")
    assert answered(live, shop, "moss") == 1.0


def test_an_approved_package_takes_over_and_a_rejected_one_is_taken_back(live: LiveEndpoint, shop: str) -> None:
    s3, sagemaker = live.client("s3"), live.client("sagemaker")
    sagemaker.create_model_package_group(ModelPackageGroupName="Lilies")
    arns = []
    for number in (1.0, 2.0):
        url = f"s3://versions/trained/{number}.tar"
        s3.put_object(Bucket="versions", Key=f"trained/{number}.tar", Body=constant(number))
        containers = [{"Image": "torpor", "ModelDataUrl": url}]
        specification = {"Containers": containers, "SupportedContentTypes": [], "SupportedResponseMIMETypes": []}
        made = sagemaker.create_model_package(ModelPackageGroupName="Lilies", InferenceSpecification=specification)
        arns.append(made["ModelPackageArn"])

    def judged(arn: str, status: str) -> None:
        sagemaker.update_model_package(ModelPackageArn=arn, ModelApprovalStatus=status)

    judged(arns[0], "Approved")
    assert answered(live, shop, "lily") == 1.0
    assert "versions that may answer: 1." in refused(live, shop, "lily@2")
    judged(arns[1], "Approved")
    assert soon(lambda: answered(live, shop, "lily") == 2.0)
    headers = live.invoke(shop, b"1", TargetModel="lily")["ResponseMetadata"]["HTTPHeaders"]
    assert headers[VERSION] == "lily/2/2.0.tar"
    judged(arns[1], "Rejected")
    assert answered(live, shop, "lily") == 1.0
    assert "versions that may answer: 1." in refused(live, shop, "lily@2")


def test_the_ledger_of_switched_versions_plays_again_with_the_same_loads_and_hits(live: LiveEndpoint) -> None:
    s3 = live.client("s3")
    s3.create_bucket(Bucket="again")
    s3.put_object(Bucket="again", Key="shop/rose/1/m.tar", Body=constant(1.0))
    shop = live.deploy("Again", Variant(many("again/shop", {"TORPOR_VERSIONS": "all"})))
    answers = [answered(live, shop, "rose") for _ in range(4)]
    for number in (2, 3):
        s3.put_object(Bucket="again", Key=f"shop/rose/{number}/m.tar", Body=constant(float(number)))
        assert soon(lambda: page(live, shop, "rose")["default"] == number)  # noqa: B023  it is called at once
        answers += [answered(live, shop, "rose") for _ in range(4)]
    label(live, shop, "rose", label="default", version="2")
    answers += [answered(live, shop, "rose") for _ in range(2)]
    assert answers == [1.0] * 4 + [2.0] * 4 + [3.0] * 4 + [2.0] * 2
    live.page("cold-starts")  # it writes the ledger first
    with closing(sqlite3.connect(live.data_dir / "ledger.sqlite")) as ledger:
        cold = ledger.execute("SELECT count(*) FROM cold_starts WHERE endpoint = ?", (shop,)).fetchone()[0]
        steps = ledger.execute("SELECT kind, model, beside FROM version_steps WHERE endpoint = ?", (shop,)).fetchall()
    assert steps == [("beside", f"rose/{number}/m.tar", f"rose/{number - 1}/m.tar") for number in (2, 3)]
    again = torpor.simulate(LedgerFile(live.data_dir / "ledger.sqlite", shop))
    assert (again.requests, again.warm, again.loads) == (len(answers), len(answers) - cold, 1 + len(steps))
    assert cold == 1


def test_an_overwritten_key_takes_over_without_a_call_that_waits_for_its_load(live: LiveEndpoint) -> None:
    s3 = live.client("s3")
    s3.create_bucket(Bucket="beside")
    s3.put_object(Bucket="beside", Key="shop/rose.tar", Body=constant(1.0))
    shop = live.deploy("Beside", Variant(many("beside/shop", {"TORPOR_UPDATE": "beside"})))
    assert answered(live, shop, "rose.tar") == 1.0
    with Callers([runtime(live.url), runtime(live.url)], shop, "rose.tar").calling() as callers:
        for number in (2.0, 3.0):
            callers.some(5)
            s3.put_object(Bucket="beside", Key="shop/rose.tar", Body=constant(number))
            assert soon(lambda: answered(live, shop, "rose.tar") == number)  # noqa: B023  it is called at once
        callers.withdrawn = frozenset({1, 2})
        s3.put_object(Bucket="beside", Key="shop/rose.tar", Body=b"no archive")
        callers.some(5)
        reload = urlencode({"endpoint": shop, "model": "rose.tar"})
        with pytest.raises(HTTPError) as error, urlopen(Request(f"{live.url}/_torpor/reload?{reload}", method="POST")):
            pass
        assert "rose.tar" in error.value.read().decode()
        assert answered(live, shop, "rose.tar") == 3.0
    assert (callers.failed, callers.broken, callers.waited, callers.stale) == ([], [], [], [])
