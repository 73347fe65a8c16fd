"""`torpor async`, and `invoke_async` of `torpor.local`, on one asynchronous endpoint."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import torpor
from tests.sdk.helpers.answering_endpoint import Told, answering
from tests.sdk.helpers.small_models import CITIES, ROWS, train_booster
from torpor.calling.connection import EndpointConnection
from torpor.cli import app
from torpor.cli.commands.async_requests import lines, table, took
from torpor.cli.console import console
from torpor.hosting.async_call import AsyncCall
from torpor.hosting.local_endpoint import INLINE_MAX_BYTES
from torpor.hosting.shared_process import SharedProcess
from torpor_endpoint.core.pages.async_requests import AsyncRequestRow

GONE = "no asynchronous request of the last day has the InferenceId 'nobody'"


@pytest.fixture(scope="module")
def later(shared: SharedProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[torpor.Local]:
    folder = tmp_path_factory.mktemp("later")
    torpor.bundle(train_booster(rounds=2), folder / CITIES[0])
    with shared.local(folder, name="later", asynchronous=True) as endpoint:
        yield endpoint


def run(endpoint: torpor.Local, *arguments: str) -> tuple[int, str]:
    ended = CliRunner().invoke(app, ["async", *arguments], env={"AWS_ENDPOINT_URL": endpoint.url})
    return ended.exit_code, ended.stdout + ended.stderr


def test_a_result_is_waited_for(later: torpor.Local) -> None:
    call = later.invoke_async(CITIES[0], ROWS, InferenceId="one")
    assert np.asarray(call.result(30.0)).shape == (3,)
    assert call.done()
    assert not call.cancel()
    code, told = run(later, "ls", "later", "--state", "Completed")
    assert code == 0
    assert "one" in told
    code, told = run(later, "show", "one", "--json")
    [shown] = json.loads(told)["requests"]
    assert (shown["state"], shown["model"], shown["output"]) == ("Completed", CITIES[0], call.output)


def test_a_large_payload_goes_by_way_of_s3(later: torpor.Local) -> None:
    rows = ",".join(map(str, ROWS[0])) + "\n"
    call = later.invoke_async(CITIES[0], rows * (INLINE_MAX_BYTES // len(rows) + 1), content_type="text/csv")
    assert len(call.result(30.0)) == INLINE_MAX_BYTES // len(rows) + 1
    assert call.status().input.startswith("s3://torpor-local/async/later/in/")


def test_a_failure_says_why(later: torpor.Local) -> None:
    call = later.invoke_async("nobody.tar.gz", ROWS)
    with pytest.raises(torpor.NoResult, match=r"it is Failed \(ClientError: .*nobody.tar.gz"):
        call.result(30.0)


def test_an_id_that_nobody_has_is_refused(later: torpor.Local) -> None:
    for command in ("show", "cancel"):
        code, told = run(later, command, "nobody")
        assert code == 1
        assert GONE in " ".join(told.split())


def test_a_request_that_has_ended_cannot_be_cancelled(later: torpor.Local) -> None:
    later.invoke_async(CITIES[0], ROWS, InferenceId="two").result(30.0)
    code, told = run(later, "cancel", "two")
    assert code == 1
    assert "two does not wait any more: it is Completed" in told


def test_requests_of_one_id_are_shown_apart(later: torpor.Local) -> None:
    for _ in range(2):
        later.invoke_async(CITIES[0], ROWS, InferenceId="twice")
    code, told = run(later, "show", "twice")
    assert code == 0
    assert [part.split()[:2] for part in told.split("\n\n")] == [["request", "twice"]] * 2


def test_a_result_that_cannot_be_read_is_an_object_with_bytes() -> None:
    row = {**asdict(ROW), "state": "Completed", "inference_id": "one"}
    stored = {"Body": BytesIO(b"no JSON"), "ContentType": "application/json"}
    s3 = SimpleNamespace(get_object=lambda **of: stored)
    with answering(lambda asked: Told(body=json.dumps({"requests": [row]}).encode())) as url:
        call = AsyncCall(EndpointConnection(url), s3, {"InferenceId": "one", "OutputLocation": ROW.output})
        with pytest.raises(ValueError, match="its bytes are the object s3://b/out"):
            call.result(30.0)


ROW = AsyncRequestRow(1, "one", "e", "v", "Failed", 0.0, 60.0, "s3://b/out", ended_s=5.0, reason="ClientError: no")


def test_tables_and_lines_can_be_read() -> None:
    printer = console()
    with printer.capture() as shown:
        printer.print(table([ROW], 700.0))
    assert "ClientError: no" in shown.get()
    assert "state     Failed" in lines(ROW, 700.0)
    assert took(ROW, 700.0) == "5.0 s"
    assert took(AsyncRequestRow(1, "", "", "", "Queued", 0.0, 60.0, ""), 700.0) == "12 min"
