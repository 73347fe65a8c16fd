"""AWS's images with a script: what each hands to its functions, and what each makes of their answers."""

import asyncio
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tests.container.helpers.script_processes import started, write_script
from torpor_container.content import TOOLKIT
from torpor_container.content.media import CSV, RECORDIO, with_charset
from torpor_container.errors import BadInput, ContainerError, PredictionFailed
from torpor_container.formats import Conventions
from torpor_container.formats.script.encodings.recordio_protobuf import written
from torpor_container.formats.script.functions import with_context
from torpor_container.formats.script.handler_context import Context
from torpor_container.formats.script.script_images import (
    SCIKIT_LEARN,
    SCIKIT_LEARN_MULTI_MODEL,
    TORPOR,
    XGBOOST,
    XGBOOST_MULTI_MODEL,
    ScriptImage,
)
from torpor_container.invocation import Invocation, Reply
from torpor_container.processes.zygote_client import ZygoteClient

ONE = Conventions(multi_model=False, image="scikit-learn")
MANY = Conventions(multi_model=True, image="scikit-learn")
BOOSTERS = Conventions(multi_model=False, image="xgboost")
MANY_BOOSTERS = Conventions(multi_model=True, image="xgboost")
OWN = Conventions(multi_model=False)
Answer = Reply | ContainerError
Call = Callable[..., list[Answer]]


@pytest.fixture
def call(zygote: ZygoteClient, tmp_path: Path) -> Call:
    """The answers, or errors, of a script under these conventions."""

    async def story(conventions: Conventions, source: str, calls: tuple[Invocation, ...]) -> list[Answer]:
        write_script(tmp_path, source)
        found: list[Answer] = []
        async with started(zygote, tmp_path, conventions=conventions) as process:
            await process.loaded(timeout_s=30)
            for one in calls:
                try:
                    found.append((await process.invoke(one))._replace(effort=None))
                except ContainerError as error:
                    found.append(error)
        return found

    return lambda conventions, source, *calls: asyncio.run(story(conventions, source, calls))


# -- the context -------------------------------------------------------------------------------------------------------
STRICT_SKLEARN, STRICT_XGBOOST = replace(SCIKIT_LEARN, strict=True), replace(XGBOOST_MULTI_MODEL, strict=True)
ALL = (TORPOR, SCIKIT_LEARN, SCIKIT_LEARN_MULTI_MODEL, XGBOOST, XGBOOST_MULTI_MODEL)


def needs_one(data: Any, model: Any, more: Any) -> Any:
    return more


def has_its_own(data: Any, model: Any, threshold: Any = 0.5) -> Any:
    return threshold


def may_take_one(data: Any, model: Any, ctx: Any = None) -> Any:
    return ctx


def by_name(data: Any, model: Any, threshold: Any = 0.5, context: Any = None) -> Any:
    return context


def by_name_alone(data: Any, model: Any, *, threshold: Any = 0.5, context: Any = None) -> Any:
    return context


def by_keywords(data: Any, model: Any, **options: Any) -> Any:
    return options.get("context")


def takes_two(data: Any, model: Any) -> Any:
    return None


@pytest.mark.parametrize(
    ("image", "function", "given"),
    [
        *((image, needs_one, "context") for image in ALL),
        *((image, has_its_own, 0.5) for image in ALL),
        *((image, by_name, "context") for image in (TORPOR, SCIKIT_LEARN, XGBOOST, STRICT_SKLEARN)),
        *((image, by_name_alone, "context") for image in (TORPOR, SCIKIT_LEARN, XGBOOST)),
        *((image, takes_two, None) for image in (TORPOR, SCIKIT_LEARN, XGBOOST, STRICT_XGBOOST)),
        *((image, by_keywords, None) for image in (TORPOR, SCIKIT_LEARN, XGBOOST)),
        (TORPOR, may_take_one, "context"),
        (XGBOOST_MULTI_MODEL, may_take_one, "context"),
        (XGBOOST, may_take_one, None),
        (SCIKIT_LEARN, may_take_one, None),
        (STRICT_SKLEARN, has_its_own, 0.5),
        (STRICT_XGBOOST, has_its_own, "context"),
    ],
)
def test_a_parameter_gets_the_context_if_it_is_meant_for_it(
    tmp_path: Path, image: ScriptImage, function: Callable[..., Any], given: object
) -> None:
    context = Context(tmp_path)
    found = with_context(function, 2, context, image)("data", "model")
    assert found is context if given == "context" else found == given


LOADS = """
import numpy as np, xgboost
def model_fn(d): return xgboost.train({"max_depth": 1}, xgboost.DMatrix(np.eye(4), np.arange(4.0)), 2)
"""


# -- what functions get ------------------------------------------------------------------------------------------------
LOOK = """
def model_fn(model_dir): return 1
def predict_fn(rows, model):
    if type(rows).__name__ == "DMatrix":
        return ["DMatrix", [rows.num_row(), rows.num_col()]]
    return [str(rows.dtype), list(rows.shape), float(rows.ravel()[0])]
"""


def saved(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


TWO_ROWS = Invocation(b"16777217,2,3\n4,5,6", "text/csv")
ONE_ROW = Invocation(b"1,2,3", "text/csv")
AS_JSON = Invocation(b"[[16777217, 2], [3, 4]]", "application/json")
ONE_AS_JSON = Invocation(b"[1, 2]", "application/json")
AS_NPY = Invocation(saved(np.array([[16777217.0]])), "application/x-npy")
MATRIX = ["DMatrix", [2, 3]]


@pytest.mark.parametrize(
    ("conventions", "seen"),
    [
        (ONE, [["float32", [2, 3], 16777216.0], ["float32", [1, 3], 1.0], ["float32", [2, 2], 16777216.0]]),
        (MANY, [["float32", [2, 3], 16777216.0], ["float32", [1, 3], 1.0], ["float32", [2, 2], 16777216.0]]),
        (
            replace(ONE, strict=True),
            [["float32", [2, 3], 16777216.0], ["float32", [3], 1.0], ["float32", [2, 2], 16777216.0]],
        ),
        (
            replace(MANY, strict=True),
            [["float32", [2, 3], 16777216.0], ["float32", [3], 1.0], ["float32", [2, 2], 16777216.0]],
        ),
        (BOOSTERS, [MATRIX, ["DMatrix", [1, 3]], ["DMatrix", [2, 2]]]),
        (MANY_BOOSTERS, [MATRIX, ["DMatrix", [1, 3]], ["DMatrix", [2, 2]]]),
        (replace(MANY_BOOSTERS, strict=True), [MATRIX, ["DMatrix", [1, 3]]]),
        (replace(BOOSTERS, strict=True), [MATRIX, ["DMatrix", [1, 3]]]),
    ],
    ids=[
        "one",
        "many",
        "one, strict",
        "many, strict",
        "xgboost",
        "many xgboost",
        "many xgboost, strict",
        "xgboost, strict",
    ],
)
def test_rows_come_as_the_image_s_default_input_fn_gives_them(
    call: Call, conventions: Conventions, seen: list[object]
) -> None:
    replies = call(conventions, LOOK, *(TWO_ROWS, ONE_ROW, AS_JSON)[: len(seen)])
    assert [json.loads(reply.body) for reply in replies if isinstance(reply, Reply)] == seen


def test_npy_keeps_its_own_type_and_a_flat_list_its_shape_where_the_image_keeps_them(call: Call) -> None:
    strict = call(replace(ONE, strict=True), LOOK, AS_NPY, ONE_AS_JSON)
    assert [json.loads(reply.body) for reply in strict if isinstance(reply, Reply)] == [
        ["float64", [1, 1], 16777217.0],
        ["float32", [2], 1.0],
    ]


SHAPES = """
import numpy as np
from sklearn.linear_model import LinearRegression
def model_fn(model_dir): return LinearRegression(fit_intercept=False).fit(np.eye(4), np.arange(4.0))
def predict_fn(rows, model): return [str(rows.dtype), float(model.predict(np.c_[np.ones(len(rows)), rows])[0])]
"""


@pytest.mark.parametrize("conventions", [ONE, OWN], ids=["scikit-learn", "torpor"])
def test_predict_fn_may_take_other_columns_than_its_model(call: Call, conventions: Conventions) -> None:
    """No image counts the columns before predict_fn: this one adds a column."""
    [reply] = call(conventions, SHAPES, ONE_ROW)
    dtype, value = json.loads(reply.body)  # type: ignore[union-attr]  # an error has none, and fails here
    assert (dtype, value) == ("float32" if conventions is ONE else "float64", pytest.approx(1 + 4 + 9, rel=1e-6))


@pytest.mark.parametrize("conventions", [BOOSTERS, OWN], ids=["xgboost", "torpor"])
def test_a_booster_s_columns_are_counted_before_predict_fn_which_could_not_add_any(
    call: Call, conventions: Conventions
) -> None:
    source = LOADS + "def predict_fn(rows, model): return model.predict(rows)\n"
    short, whole = call(conventions, source, ONE_ROW, Invocation(b"1,2,3,4", "text/csv"))
    assert str(short) == "the model takes 4 columns, and the rows have 3"
    assert isinstance(whole, Reply)


TOLD = "def model_fn(d): return 1\ndef transform_fn(m, body, content_type, accept):\n"
SEEN = (
    TOLD
    + "    kind = 'str' if isinstance(body, str) else 'bytes'\n    return f'{kind} {content_type}', 'text/x-told'\n"
)
TYPES = ("text/csv", "text/csv; charset=utf-8", "", "application/json", "text/plain")


@pytest.mark.parametrize(
    ("conventions", "seen"),
    [
        (OWN, ["str text/csv", "str text/csv; charset=utf-8", "str text/csv"]),
        (ONE, ["str text/csv", "bytes text/csv; charset=utf-8", "str application/json"]),
        (BOOSTERS, ["str text/csv", "bytes text/csv; charset=utf-8", "str application/json"]),
        (MANY_BOOSTERS, ["str text/csv", "bytes text/csv; charset=utf-8", "str text/csv"]),
    ],
    ids=["torpor", "scikit-learn", "xgboost", "many xgboost"],
)
def test_a_body_is_text_for_the_types_that_the_image_takes_for_text(
    call: Call, conventions: Conventions, seen: list[str]
) -> None:
    replies = call(conventions, SEEN, *(Invocation(b"1", kind) for kind in TYPES))
    found = [reply.body.decode() for reply in replies if isinstance(reply, Reply)]
    assert found == [*seen, "str application/json", "bytes text/plain"]


def test_flask_replaces_what_is_no_utf_8_and_torpor_refuses_it(call: Call) -> None:
    bad = Invocation(b"caf\xe9", "text/csv")
    assert str(call(ONE, TOLD + "    return body, a", bad)[0]).startswith("the body is not UTF-8")
    [replaced] = call(replace(ONE, strict=True), TOLD + "    return body, 'text/csv'", bad)
    assert isinstance(replaced, Reply)
    assert replaced.body.decode() == "caf\N{REPLACEMENT CHARACTER}"


# -- what becomes of answers -------------------------------------------------------------------------------------------
HEAD = "from sagemaker_containers.beta.framework import worker\ndef model_fn(d): return 1\n"
ANSWERS = {
    "response": "def transform_fn(m, b, c, a): return worker.Response('1,2', mimetype=a)\n",
    "with its own header": "def transform_fn(m, b, c, a): return worker.Response('1,2', headers={'Content-Type': a})\n",
    "pair": "def transform_fn(m, b, c, a): return '1,2', a\n",
    "default": "def predict_fn(rows, m): return rows\n",
    "bare": "def transform_fn(m, b, c, a): return '1,2'\n",
}


def types(replies: list[Answer]) -> list[str]:
    return [reply.content_type for reply in replies if isinstance(reply, Reply)]


@pytest.mark.parametrize(
    ("answer", "strict", "csv"),
    [
        ("response", False, "text/csv; charset=utf-8"),
        ("with its own header", False, "text/csv"),
        ("pair", False, "text/csv; charset=utf-8"),
        ("default", False, "text/csv; charset=utf-8"),
        ("default", True, "text/csv; charset=utf-8"),
        ("bare", False, "text/csv; charset=utf-8"),
        ("bare", True, "text/html; charset=utf-8"),
    ],
)
@pytest.mark.parametrize("conventions", [ONE, BOOSTERS], ids=["scikit-learn", "xgboost"])
def test_flask_names_the_charset_of_text(
    call: Call, conventions: Conventions, answer: str, strict: bool, csv: str
) -> None:
    source = HEAD + ANSWERS[answer].replace("return rows", "return [1]")
    if strict and answer == "default":
        source = HEAD + "def input_fn(b, c): return b\ndef predict_fn(rows, m): return [1]\n"
    asked = (replace(ONE_ROW, accept="text/csv"), replace(ONE_ROW, accept="application/json"))
    json_type = "text/html; charset=utf-8" if (answer, strict) == ("bare", True) else "application/json"
    if answer == "with its own header":
        json_type = "application/json"
    assert types(call(replace(conventions, strict=strict), source, *asked)) == [csv, json_type]


@pytest.mark.parametrize("conventions", [MANY, MANY_BOOSTERS, OWN], ids=["many", "many xgboost", "torpor"])
@pytest.mark.parametrize("answer", ["pair", "default", "bare"])
def test_multi_model_server_names_no_charset(call: Call, conventions: Conventions, answer: str) -> None:
    source = HEAD + ANSWERS[answer].replace("return rows", "return [1]")
    assert types(call(conventions, source, replace(ONE_ROW, accept="text/csv"))) == ["text/csv"]


@pytest.mark.parametrize(("conventions", "body"), [(ONE, b"1"), (MANY, b"1"), (BOOSTERS, b"1"), (OWN, None)])
def test_the_first_two_of_a_longer_tuple_are_the_body_and_its_type_for_aws_s_images(
    call: Call, conventions: Conventions, body: bytes | None
) -> None:
    [reply] = call(conventions, HEAD + "def transform_fn(m, b, c, a): return '1', 'text/x-own', 'more'\n", ONE_ROW)
    assert isinstance(reply, Reply)
    assert reply.body == (body or b'["1", "text/x-own", "more"]')


@pytest.mark.parametrize(
    ("answer", "status"), [("worker.Response(status=204)", 204), ("worker.Response('x', status=204)", None)]
)
def test_a_script_may_answer_that_there_is_no_content_if_there_is_none(
    call: Call, answer: str, status: int | None
) -> None:
    [reply] = call(ONE, HEAD + f"def transform_fn(m, b, c, a): return {answer}\n", ONE_ROW)
    assert (reply.status if isinstance(reply, Reply) else None) == status


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("text/csv", "text/csv; charset=utf-8"),
        ("text/csv; charset=latin-1", "text/csv; charset=latin-1"),
        ("application/json", "application/json"),
        ("application/xml", "application/xml; charset=utf-8"),
        ("image/svg+xml", "image/svg+xml; charset=utf-8"),
        ("application/x-npy", "application/x-npy"),
    ],
)
def test_text_and_xml_have_a_charset_once(given: str, sent: str) -> None:
    assert with_charset(given) == sent


@pytest.mark.parametrize(
    ("prediction", "written"),
    [
        (np.array([0.1, 1e-7], np.float32), b"0.1\n1e-07\n"),
        (np.array([[0.1, 2]], np.float32), b"0.1,2.0\n"),
        ([1, 2.5], b"1.0\n2.5\n"),
        ([["a", "b,c"]], b'a,"b,c"\n'),
        (np.array([1, 2]), b"1\n2\n"),
        ([[1], [2, 3]], b"1\n2,3\n"),
        ({"a": 1}, TOOLKIT.encoders[CSV]({"a": 1})),
        (iter([1, 2]), b"1\n2\n"),
    ],
)
def test_csv_is_written_as_the_older_toolkit_writes_it_and_what_that_cannot_as_torpor_does(
    prediction: Any, written: bytes
) -> None:
    assert SCIKIT_LEARN.answers(TOOLKIT).encode(prediction, CSV) == written


@pytest.mark.parametrize("strict", [False, True])
def test_a_script_that_only_loads_answers_as_the_xgboost_image_s_script_mode_does(call: Call, strict: bool) -> None:
    """And not as its algorithm mode: a list in JSON, which is the type without Accept."""
    row = Invocation(b"1,0,0,0", "text/csv")
    plain, lines = call(replace(BOOSTERS, strict=strict), LOADS, row, replace(row, accept="text/csv"))
    assert isinstance(plain, Reply)
    assert isinstance(lines, Reply)
    [value] = json.loads(plain.body)
    assert (plain.content_type, lines.content_type) == ("application/json", "text/csv; charset=utf-8")
    assert lines.body.decode() == str(np.float32(value)) + "\n"


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("rest", ["", "def predict_fn(rows, model): return model.predict(rows)\n"])
def test_the_xgboost_image_reads_records_of_protobuf(call: Call, rest: str, strict: bool) -> None:
    rows = np.eye(4, dtype=np.float32)
    calls = (written(rows), written(csr_matrix(rows)), b"no records")
    conventions = replace(BOOSTERS, strict=strict)
    dense, sparse, bad = call(conventions, LOADS + rest, *(Invocation(body, RECORDIO) for body in calls))
    assert isinstance(dense, Reply)
    assert isinstance(sparse, Reply)
    assert len(json.loads(dense.body)) == len(json.loads(sparse.body)) == 4
    assert isinstance(bad, PredictionFailed if strict else BadInput)


def test_strict_answers_one_row_as_the_scikit_learn_image_does(call: Call) -> None:
    source = SHAPES[: SHAPES.index("def predict_fn")]
    four = Invocation(b"1,0,0,0", "text/csv")
    assert "Expected 2D array, got 1D array" in str(call(replace(ONE, strict=True), source, four)[0])
    assert isinstance(call(ONE, source, four)[0], Reply)


# -- what a script advises ---------------------------------------------------------------------------------------------
ADVICE = """
import json
from sagemaker_containers.beta.framework import worker
def model_fn(d): return 1
def execution_parameters_fn():
    return worker.Response(response=json.dumps({"MaxPayloadInMB": 1}), mimetype="application/json")
"""


def asked() -> Invocation:
    invocation = Invocation(b"")
    invocation.asks_parameters = True
    return invocation


@pytest.mark.parametrize(
    ("conventions", "status"),
    [(ONE, 200), (OWN, 200), (MANY, 404), (BOOSTERS, 404)],
    ids=["one", "torpor", "many", "xgboost"],
)
def test_execution_parameters_fn_advises_where_the_image_has_it(
    call: Call, conventions: Conventions, status: int
) -> None:
    [reply] = call(conventions, ADVICE, asked())
    assert isinstance(reply, Reply)
    assert (reply.status, reply.body) == (status, b'{"MaxPayloadInMB": 1}' if status == 200 else b"")


@pytest.mark.parametrize(
    ("returned", "status", "body"),
    [
        ('{"MaxPayloadInMB": 1}', 200, b'{"MaxPayloadInMB": 1}'),
        ("'{}'", 200, b"{}"),
        ("worker.Response('no', status=503)", 503, b"no"),
    ],
)
def test_what_it_returns_is_the_answer(call: Call, returned: str, status: int, body: bytes) -> None:
    source = f"{HEAD}def execution_parameters_fn(): return {returned}\n"
    [reply] = call(ONE, source, asked())
    assert isinstance(reply, Reply)
    assert (reply.status, reply.body) == (status, body)


def test_a_script_without_it_advises_nothing_and_one_that_fails_says_why(call: Call) -> None:
    [nothing] = call(ONE, LOOK, asked())
    assert isinstance(nothing, Reply)
    assert nothing.status == 404
    [failed] = call(ONE, HEAD + "def execution_parameters_fn(): raise ValueError('no advice')\n", asked())
    assert "no advice" in str(failed)
