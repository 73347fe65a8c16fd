"""`torpor cp`: packs, checks and uploads, all or nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import torpor
from tests.sdk.helpers.small_models import CITIES, ROWS, train_booster
from torpor.cli import app

Run = Callable[..., Result]


@pytest.fixture
def run(endpoint: torpor.Local) -> Run:
    return lambda *arguments: CliRunner().invoke(app, ["cp", *map(str, arguments), "--url", endpoint.url])


@pytest.fixture
def model(tmp_path: Path) -> Path:
    train_booster(rounds=2).save_model(tmp_path / "Town.json")
    return tmp_path / "Town.json"


@pytest.mark.thorough
def test_a_bare_model_is_packed_and_can_be_called(run: Run, endpoint: torpor.Local, model: Path) -> None:
    first = run(model, endpoint.model_data_url)
    second = run(model, endpoint.model_data_url, "--no-check")
    assert first.stdout == f"{endpoint.model_data_url}Town.tar.gz  new\n"
    assert second.stdout == f"{endpoint.model_data_url}Town.tar.gz  unchanged\n"
    assert len(endpoint.invoke("Town.tar.gz", ROWS)) == len(ROWS)


def test_other_content_is_replaced_by_force_only(run: Run, models: Path, tmp_path: Path) -> None:
    place = "s3://copied/towns/Town.tar.gz"
    assert run(models / CITIES[0], place, "--no-check").stdout == f"{place}  new\n"
    refused = run(models / CITIES[1], place, "--no-check")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert f"{place} is there with other content: --force replaces it" in refused.stderr
    replaced = run(models / CITIES[1], place, "--force", "--no-check")
    assert replaced.stdout == f"{place}  replaced\n"
    assert "`torpor reload MODEL`" in replaced.stderr


@pytest.mark.thorough
def test_nothing_is_uploaded_if_one_would_not_load(run: Run, endpoint: torpor.Local, model: Path) -> None:
    (model.parent / "Bad.onnx").write_bytes(b"\x08garbage" * 30)
    endpoint.client("s3").create_bucket(Bucket="unharmed")
    refused = run(model.parent, "s3://unharmed/bad/")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "nothing was uploaded, since an instance could not load" in refused.stderr
    assert "Bad.onnx" in refused.stderr
    assert "Contents" not in endpoint.client("s3").list_objects_v2(Bucket="unharmed", Prefix="bad/")
    assert run(model.parent, "s3://unharmed/bad/", "--no-check").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a.onnx",), "name local files first, and then the place"),
        (("s3://a/b", "c"), "name local files first, and then the place"),
        (("a.onnx", "b"), "the last argument is a place in S3, as s3://bucket/prefix/, not b"),
        (("a.onnx", "s3:///b"), "s3:///b is no place in S3"),
    ],
)
def test_what_is_no_copy_to_s3_is_refused_before_it_is_read(run: Run, arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
