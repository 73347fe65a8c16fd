"""`torpor async`, and `invoke_async` of `torpor.local`, on one asynchronous endpoint."""

import json
from collections.abc import Iterator

import numpy as np
import pytest
from typer.testing import CliRunner

import torpor
from tests.sdk.helpers.small_models import CITIES, ROWS, train_booster
from torpor.cli import app
from torpor.cli.commands.async_requests import lines, table, took
from torpor.cli.output import console
from torpor.hosting.serving import INLINE_MAX_BYTES, SharedProcess
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


ROW = AsyncRequestRow(1, "one", "e", "v", "Failed", 0.0, 60.0, "s3://b/out", ended_s=5.0, reason="ClientError: no")


def test_tables_and_lines_can_be_read() -> None:
    printer = console()
    with printer.capture() as shown:
        printer.print(table([ROW], 700.0))
    assert "ClientError: no" in shown.get()
    assert "state     Failed" in lines(ROW, 700.0)
    assert took(ROW, 700.0) == "5.0 s"
    assert took(AsyncRequestRow(1, "", "", "", "Queued", 0.0, 60.0, ""), 700.0) == "12 min"
