"""A whole endpoint on PostgreSQL: its control may start again with another data folder, as on another machine."""

import json
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.postgresql_server import PostgresqlServer
from tests.endpoint.helpers.live_endpoint import REGION, LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, put
from tests.helpers.waiting import until
from torpor.calling.caller_keys import AccessKeys
from torpor.calling.connection import EndpointConnection
from torpor.pages.denials import of_request
from torpor_account.aws.errors import DATABASE_AWAY

ROLE = "arn:aws:iam::123456789012:role/any"
psycopg = pytest.importorskip("psycopg")


def deployed(live: LiveEndpoint) -> None:
    model = packed({"xgboost-model.json": booster()})
    put(live.folder("models"), {"shop/a.tar.gz": model, "shop/b.tar.gz": model})
    live.deploy("shop", Variant(many("models/shop")))


def test_another_data_folder_goes_on_with_the_same_records(tmp_path: Path, database_url: str) -> None:
    first = LiveEndpoint(tmp_path / "first", "--auth", f"--database={database_url}").start()
    try:
        deployed(first)
        before = first.invoke("shop", ROW, TargetModel="a.tar.gz")["Body"]
        user = first.client("iam").create_user(UserName="ann")["User"]["Arn"]
        key = first.client("iam").create_access_key(UserName="ann")["AccessKey"]
        keys = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
        with pytest.raises(ClientError) as denied:
            boto3.client("sts", REGION, endpoint_url=first.url, **keys).assume_role(RoleArn=ROLE, RoleSessionName="ann")
    finally:
        first.kill()
    with LiveEndpoint(tmp_path / "second", "--auth", f"--database={database_url}") as second:
        put(second.folder("models"), {"shop/a.tar.gz": packed({"xgboost-model.json": booster()})})
        assert second.keys == first.keys
        assert second.client("iam").get_user(UserName="ann")["User"]["Arn"] == user
        connection = EndpointConnection(second.url, REGION, keys=AccessKeys(*second.keys))
        (why,) = of_request(connection, denied.value.response["ResponseMetadata"]["RequestId"])
        assert (why.caller, why.action) == (user, "sts:AssumeRole")
        assert second.settled("shop")["EndpointStatus"] == "InService"
        assert second.invoke("shop", ROW, TargetModel="a.tar.gz")["Body"] == before


@pytest.mark.thorough
def test_a_standby_takes_over_from_an_endpoint_that_is_frozen_which_then_ends(
    tmp_path: Path, database_url: str
) -> None:
    first = LiveEndpoint(tmp_path / "first", f"--database={database_url}").start()
    try:
        deployed(first)
        before = first.invoke("shop", ROW, TargetModel="a.tar.gz")["Body"]
        with LiveEndpoint(tmp_path / "second", f"--database={database_url}", "--standby") as standby:
            put(standby.folder("models"), {"shop/a.tar.gz": packed({"xgboost-model.json": booster()})})
            until(lambda: "standing by" in standby.output())
            frozen = (first.pid, *first.worker_pids())
            for pid in frozen:
                os.kill(pid, signal.SIGSTOP)
            assert standby.settled("shop")["EndpointStatus"] == "InService"
            assert standby.invoke("shop", ROW, TargetModel="a.tar.gz")["Body"] == before
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
            until(lambda: "another endpoint uses the database now; this one ends" in first.output())
            assert standby.invoke("shop", ROW, TargetModel="a.tar.gz")["Body"] == before
    finally:
        first.kill()


def test_a_standby_waits_for_a_database_that_is_away_at_its_start_and_says_so(
    tmp_path: Path, postgresql: PostgresqlServer, database_url: str
) -> None:
    options = (f"--database={database_url}",)
    postgresql.stop()
    try:
        refused = LiveEndpoint(tmp_path / "first", *options).start()
        assert refused.ended() == 2
        assert "--database: " in refused.output()
        standby = LiveEndpoint(tmp_path / "second", *options, "--standby").start()
        until(lambda: "the database torpor cannot be used" in standby.output())
    finally:
        postgresql.start()
    try:
        assert standby.client("sagemaker").list_endpoints()["Endpoints"] == []
        assert "the database torpor can be used again" in standby.output()
    finally:
        standby.stop()


def test_calls_go_on_while_the_server_is_away(tmp_path: Path, postgresql: PostgresqlServer, database_url: str) -> None:
    with LiveEndpoint(tmp_path, f"--database={database_url}") as live:
        deployed(live)
        answer = live.invoke("shop", ROW, TargetModel="a.tar.gz")["Body"]
        copy = tmp_path / "copy.sqlite"
        copy.write_bytes(live.page("ledger"))
        with closing(sqlite3.connect(copy)) as ledger:
            assert ledger.execute("SELECT model FROM cold_starts").fetchall() == [("a.tar.gz",)]
        postgresql.flush()
        postgresql.stop()
        try:
            for model in ("a.tar.gz", "b.tar.gz"):  # a warm call and a cold one
                assert live.invoke("shop", ROW, TargetModel=model)["Body"] == answer
            with pytest.raises(ClientError) as caught:
                live.client("sagemaker").list_endpoints()
            assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
            assert caught.value.response["Error"]["Message"] == DATABASE_AWAY
            with pytest.raises(HTTPError) as page:
                live.page("costs")
            assert (page.value.code, page.value.read().decode()) == (500, DATABASE_AWAY)
            assert "Traceback" not in live.output()
        finally:
            postgresql.start()

        def listed() -> list[str]:
            try:
                return [one["EndpointName"] for one in live.client("sagemaker").list_endpoints()["Endpoints"]]
            except ClientError:
                return []

        def cold_starts() -> list[str]:
            try:
                return [one["model"] for one in json.loads(live.page("cold-starts"))["cold_starts"]]
            except HTTPError:
                return []

        assert until(listed) == ["shop"]
        assert live.invoke("shop", ROW, TargetModel="a.tar.gz")["Body"] == answer
        assert until(cold_starts) == ["a.tar.gz", "b.tar.gz"]


@pytest.mark.thorough
def test_what_needs_the_database_says_so_while_it_is_away_and_the_log_has_one_line(
    tmp_path: Path, postgresql: PostgresqlServer, database_url: str
) -> None:
    asking = {"EndpointName": "shop", "Body": ROW, "ContentType": "text/csv"}
    with LiveEndpoint(tmp_path, f"--database={database_url}") as live:
        live.client("s3").create_bucket(Bucket="results")
        put(live.folder("models"), {"shop/a.tar.gz": packed({"xgboost-model.json": booster()})})
        config = {"OutputConfig": {"S3OutputPath": "s3://results/out"}}
        live.deploy("shop", Variant(one("models/shop/a.tar.gz")), AsyncInferenceConfig=config)
        runtime, control, iam = map(live.client, ("sagemaker-runtime", "sagemaker", "iam"))
        postgresql.stop()
        try:
            calls: list[tuple[Any, dict[str, Any]]] = [
                *[(runtime.invoke_endpoint_async, asking)] * 20,
                *[(control.describe_endpoint, {"EndpointName": "shop"})] * 5,
                (control.list_models, {}),
                (control.list_transform_jobs, {}),
                (iam.list_users, {}),
            ]
            for call, asked in calls:
                with pytest.raises(ClientError) as caught:
                    call(**asked)
                answered = caught.value.response
                assert answered["ResponseMetadata"]["HTTPStatusCode"] == 500
                assert answered["Error"]["Code"] == "InternalFailure"
                assert DATABASE_AWAY in (answered["Error"]["Message"], answered.get("Message"))
            said = live.output()
            assert said.count("the database torpor_async cannot be used") == 1
            assert said.count("the database torpor cannot be used") == 1
            assert len(said.splitlines()) <= 5, said  # also the warning of the start, and two lines about the ledger
        finally:
            postgresql.start()
        accepted = until(lambda: taken(runtime, asking))
        key = accepted["OutputLocation"].removeprefix("s3://results/")
        live.client("s3").get_waiter("object_exists").wait(Bucket="results", Key=key, WaiterConfig={"Delay": 1})


def taken(runtime: Any, asking: dict[str, Any]) -> Any:
    """The answer of a request that is accepted; None while the database is away."""
    try:
        return runtime.invoke_endpoint_async(**asking)
    except ClientError:
        return None


def test_an_endpoint_that_may_not_make_its_tables_says_so_in_one_line(tmp_path: Path, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE poor LOGIN")
    try:
        live = LiveEndpoint(tmp_path, f"--database={database_url.replace('torpor@', 'poor@')}").start()
        assert live.ended() == 1
        assert "cannot start: poor may not make schemas in the database apart: GRANT CREATE ON" in live.output()
        assert "Traceback" not in live.output()
    finally:
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("DROP ROLE poor")
