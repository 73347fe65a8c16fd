"""The log as JSON lines: what each line has, and that a running endpoint writes nothing else."""

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.waiting import until
from torpor_account.log_lines import FIELDS, JsonLines, LogFields, about, rfc3339, single_line

ALWAYS = {"time", "level", "logger", "message"}


def line(message: str, *values: object, **extra: Any) -> dict[str, Any]:
    record = logging.getLogger("torpor_endpoint.x").makeRecord(
        "torpor_endpoint.x", logging.ERROR, "", 0, message, values, extra.pop("exc_info", None), extra=extra
    )
    written = JsonLines().format(record)
    assert "\n" not in written
    return dict(json.loads(written))


@given(text=st.text())
def test_whatever_a_message_holds_it_is_one_line_that_reads_as_it_was(text: str) -> None:
    assert line("%s", text)["message"] == text


@given(at_s=st.floats(0.0, 4e9))
def test_a_time_is_that_of_rfc_3339_within_a_millisecond(at_s: float) -> None:
    shown = rfc3339(at_s)
    assert abs(datetime.fromisoformat(shown).timestamp() - at_s) <= 0.001
    assert (len(shown), shown[-1]) == (24, "Z")


def test_a_line_has_the_fields_of_every_line_and_those_it_is_about() -> None:
    found = line("%s failed", "r-1", **about(request_id="r-1", endpoint="shop"))
    assert found.keys() == {*ALWAYS, "request_id", "endpoint"}
    assert (found["level"], found["message"], found["endpoint"]) == ("error", "r-1 failed", "shop")


def test_an_exception_is_a_field_of_its_line() -> None:
    try:
        raise ValueError("as told")
    except ValueError as error:
        found = line("x", exc_info=(type(error), error, error.__traceback__))
    assert found["exception"].endswith("ValueError: as told")


def test_each_field_is_documented_and_each_documented_field_exists() -> None:
    assert {*LogFields.__annotations__, *ALWAYS, "exception"} == set(FIELDS)


def test_a_line_before_the_log_is_set_up_has_the_same_form() -> None:
    found = json.loads(single_line(logging.WARNING, "open to others"))
    assert found.keys() == ALWAYS
    assert (found["level"], found["message"]) == ("warning", "open to others")


def written(live: LiveEndpoint) -> list[dict[str, Any]]:
    return [json.loads(text) for text in live.output().splitlines()]


def test_a_running_endpoint_writes_json_alone_with_a_line_for_each_request(tmp_path: Path) -> None:
    began = datetime.now(UTC).isoformat()
    with LiveEndpoint(tmp_path, "--log-format=json", "--log-level=info") as live:
        put(live.folder("models"), {"many/a.tar": constant(1.0)})
        live.deploy("shop", Variant(many("models/many")))
        good = live.invoke("shop", b"1", TargetModel="a.tar")["ResponseMetadata"]["RequestId"]
        with pytest.raises(ClientError) as failed:
            live.invoke("shop", b"x", TargetModel="a.tar")
        with pytest.raises(ClientError) as wrong:
            live.invoke("shop", b"1")
        numbers = [good, *(error.value.response["ResponseMetadata"]["RequestId"] for error in (failed, wrong))]

        def access() -> dict[str, dict[str, Any]]:
            return {one["request_id"]: one for one in written(live) if one["logger"] == "torpor_endpoint.access"}

        until(lambda: set(numbers) <= access().keys())
        lines = [access()[number] for number in numbers]
    assert [(one["level"], one["status"], one.get("error")) for one in lines] == [
        ("info", 200, None),
        ("warning", 424, "ModelError"),
        ("info", 400, "ValidationError"),
    ]
    assert {name: lines[0][name] for name in ("endpoint", "variant", "model", "cold")} == {
        "endpoint": "shop",
        "variant": "AllTraffic",
        "model": "a.tar",
        "cold": True,
    }
    assert sum(lines[0]["steps_ms"].values()) == pytest.approx(lines[0]["duration_ms"], abs=0.01)
    everything = written(live)
    assert all(one.keys() <= FIELDS.keys() and one["time"] >= began[:19] for one in everything)
    audited = [
        (one["operation"], one.get("endpoint")) for one in everything if one["logger"] == "torpor_endpoint.audit"
    ]
    assert audited == [("CreateModel", None), ("CreateEndpointConfig", None), ("CreateEndpoint", "shop")]
    assert "gunicorn.error" in {one["logger"] for one in everything}
