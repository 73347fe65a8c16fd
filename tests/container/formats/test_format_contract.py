"""The contract of all formats: detection, the framework's own predictions, and the right errors."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.container.helpers.format_models import ARTIFACTS, COLUMNS, Trained
from torpor_container.content import Rows
from torpor_container.errors import BadInput, LoadFailed, NotAcceptable, PredictionFailed, UnsupportedContentType
from torpor_container.formats import FORMATS, SCRIPT, Conventions, detect
from torpor_container.formats.format import Mapped, MappedForm
from torpor_container.formats.served import ServedModel
from torpor_container.invocation import Invocation, Reply
from torpor_container.trees import walking

CONVENTIONS = Conventions()


@pytest.fixture(params=ARTIFACTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(name: str, artifact: Callable[..., Path]) -> Iterator[ServedModel[Any]]:
    known, path = detect(artifact(name))
    model = known.load(path, CONVENTIONS)
    assert isinstance(model, ServedModel)
    yield model
    model.close()


def csv_of(rows: Rows) -> bytes:
    return "\n".join(",".join(map(str, row)) for row in rows.tolist()).encode()


def scores(reply: Reply) -> Rows:
    return np.array(json.loads(reply.body)).reshape(-1)


def test_a_model_has_the_format_of_its_file(model: ServedModel[Any], name: str) -> None:
    assert model.format == ARTIFACTS[name][0]


def test_a_model_predicts_as_its_framework_does(model: ServedModel[Any], name: str, trained: Trained) -> None:
    reply = model.invoke(Invocation(csv_of(trained.rows[:3]), "text/csv", "application/json"))
    assert (reply.status, reply.content_type) == (200, "application/json")
    np.testing.assert_allclose(scores(reply), trained.expected(ARTIFACTS[name][1]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/jsonlines", "application/x-npy", "text/libsvm"]
)
def test_the_rows_may_come_in_any_content_type(model: ServedModel[Any], trained: Trained, content_type: str) -> None:
    rows = trained.rows[:3]
    npy = BytesIO()
    np.save(npy, rows)
    bodies = {
        "application/json": json.dumps({"instances": rows.tolist()}).encode(),
        "application/jsonlines": "\n".join(map(json.dumps, rows.tolist())).encode(),
        "application/x-npy": npy.getvalue(),
        "text/libsvm": "\n".join(" ".join(f"{i}:{v}" for i, v in enumerate(row)) for row in rows.tolist()).encode(),
    }
    by_csv = model.invoke(Invocation(csv_of(rows), "text/csv", "application/json"))
    assert model.invoke(Invocation(bodies[content_type], content_type, "application/json")) == by_csv


def test_a_single_row_gives_one_prediction_in_any_content_type(model: ServedModel[Any], trained: Trained) -> None:
    row = csv_of(trained.rows[:1])
    value = np.load(BytesIO(model.invoke(Invocation(row, "text/csv", "application/x-npy")).body)).item()
    assert float(model.invoke(Invocation(row, "", "text/csv")).body) == pytest.approx(value)


@pytest.mark.parametrize("width", [COLUMNS - 1, COLUMNS + 1])
def test_a_wrong_column_count_is_bad_input_with_both_counts(model: ServedModel[Any], width: int) -> None:
    with pytest.raises(BadInput, match=f"takes {COLUMNS} columns, and the rows have {width}"):
        model.invoke(Invocation(csv_of(np.ones((2, width))), "text/csv"))


def test_an_empty_body_an_unknown_type_and_an_unknown_accept_raise_different_errors(model: ServedModel[Any]) -> None:
    for call, raised in (
        (Invocation(b"", "text/csv"), BadInput),
        (Invocation(b"\x89PNG", "image/png"), UnsupportedContentType),
        (Invocation(b"1,2,3,4", "text/csv", "text/html"), NotAcceptable),
    ):
        with pytest.raises(raised):
            model.invoke(call)


def test_many_threads_get_each_their_own_answer(model: ServedModel[Any], trained: Trained) -> None:
    def answer(row: int) -> Reply:
        return model.invoke(Invocation(csv_of(trained.rows[row : row + 1]), "text/csv"))

    alone = list(map(answer, range(60)))
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(answer, [*range(60)] * 3)) == alone * 3


def test_a_body_is_let_go_of_once_it_is_read(model: ServedModel[Any], trained: Trained) -> None:
    call = Invocation(csv_of(trained.rows[:1]), "text/csv")
    assert model.invoke(call).status == 200
    assert not call.body


def test_a_closed_model_holds_nothing_and_its_error_says_unloaded(model: ServedModel[Any]) -> None:
    model.close()
    assert model.native is None
    with pytest.raises(PredictionFailed, match="unloaded"):
        model.invoke(Invocation(b"1,2,3,4", "text/csv"))


@pytest.mark.skipif(walking.extension() is None, reason="no compiler built the extension")
def test_flat_trees_answer_the_same_bytes_as_the_framework(
    name: str, artifact: Callable[..., Path], trained: Trained, tmp_path: Path
) -> None:
    known, path = detect(artifact(name))
    if known.mapped is None or not known.mapped.alone:
        pytest.skip("its models are no trees")
    told, mapped = written_flat(known.mapped, path, tmp_path)
    if ARTIFACTS[name][1] == "pipeline":
        assert told == {"refused": "flat trees do not know the estimator Pipeline"}
        return
    flat, loaded = known.mapped.open(path, mapped, CONVENTIONS), known.load(path, CONVENTIONS)
    rows = csv_of(np.random.default_rng(8).normal(size=(500, COLUMNS)))
    for accept in ("application/json", "text/csv", "application/x-npy"):
        answers = [model.invoke(Invocation(rows, "text/csv", accept)) for model in (flat, loaded)]
        assert answers[0] == answers[1]
    assert flat.format == loaded.format
    assert flat.mapped == mapped


@pytest.mark.skipif(walking.extension() is None, reason="no compiler built the extension")
@pytest.mark.parametrize("pickled", ["booster.pkl", "model.joblib"])
def test_flat_trees_of_a_pickle_are_refused_where_pickles_are(
    pickled: str, artifact: Callable[..., Path], tmp_path: Path
) -> None:
    known, path = detect(artifact(pickled))
    assert known.mapped is not None
    _, mapped = written_flat(known.mapped, path, tmp_path)
    known.mapped.open(path, mapped, CONVENTIONS)
    with pytest.raises(LoadFailed, match="TORPOR_PICKLES=refuse forbids it"):
        known.mapped.open(path, mapped, Conventions(pickles=False))


def written_flat(form: MappedForm, path: Path, folder: Path) -> tuple[dict[str, str], Mapped]:
    """What the form's proof says, and its file."""
    module, _, function = form.prove.partition(":")
    file = folder / "trees"
    with file.open("wb") as target:
        told = getattr(import_module(module), function)({"path": str(path)}, [target.fileno()])
    return told, Mapped(str(file), file.stat().st_size)


def test_a_damaged_file_is_a_load_failure_that_names_it(name: str, artifact: Callable[..., Path]) -> None:
    directory = artifact(name)
    path = directory / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    known, found = detect(directory)
    with pytest.raises(LoadFailed, match=name):
        known.load(found, CONVENTIONS)


def test_the_contract_covers_every_built_in_format() -> None:
    assert {kind for kind, _, _ in ARTIFACTS.values()} | {SCRIPT} == {known.name for known in FORMATS}
