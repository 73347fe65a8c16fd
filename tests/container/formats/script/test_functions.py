"""Well-behaved scripts: the toolkit's functions and defaults, in a real process."""

import asyncio
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import sparse

from tests.container.helpers.format_models import Trained
from tests.container.helpers.script_processes import started, write_script
from tests.helpers.thorough_values import thorough
from torpor_container.errors import BadInput, ContainerError, LoadFailed, PredictionFailed, UnsupportedContentType
from torpor_container.formats.script.handler_context import Headers
from torpor_container.invocation import Invocation, Reply
from torpor_container.processes.zygote_client import ZygoteClient

Invoke = Callable[..., list[Reply]]
CSV_ROW = Invocation(b"1,2,3,4", "text/csv")


@pytest.fixture
def invoke(zygote: ZygoteClient) -> Invoke:
    """Loads the script of a folder, and returns its answers to these calls without their timings."""

    async def story(directory: Path, calls: tuple[Invocation, ...], program: str) -> list[Reply]:
        async with started(zygote, directory, program=program) as process:
            await process.loaded(timeout_s=30)
            return [(await process.invoke(call))._replace(effort=None) for call in calls]

    return lambda directory, *calls, program="inference.py": asyncio.run(story(directory, calls, program))


FOUR = """
import json
def model_fn(model_dir):
    return {"dir": model_dir}
def input_fn(body, content_type):
    return json.loads(body), content_type
def predict_fn(data, model):
    return {"data": data, **model}
def output_fn(prediction, accept):
    return json.dumps({**prediction, "accept": accept})
"""


def test_the_four_functions_are_called_in_turn_with_the_toolkits_arguments(invoke: Invoke, tmp_path: Path) -> None:
    write_script(tmp_path, FOUR)
    [reply] = invoke(tmp_path, Invocation(b"[5]", "application/json", "text/x-own"))
    assert reply.content_type == "text/x-own"
    assert json.loads(reply.body) == {"data": [[5], "application/json"], "dir": str(tmp_path), "accept": "text/x-own"}


PARSES = """
import argparse, os, sys
arguments = argparse.ArgumentParser()
arguments.add_argument("--depth", type=int, default=3)
depth = arguments.parse_args().depth
def model_fn(model_dir):
    return f"{os.path.basename(sys.argv[0])}, {len(sys.argv)} arguments, depth {depth}"
def predict_fn(data, model):
    return model
"""


def test_a_script_that_parses_arguments_at_its_top_finds_none(invoke: Invoke, tmp_path: Path) -> None:
    write_script(tmp_path, PARSES)
    [reply] = invoke(tmp_path, Invocation(b"1", "text/csv", "text/csv"))
    assert reply.body == b'"inference.py, 1 arguments, depth 3"\n'


@pytest.mark.parametrize(
    ("returned", "reply"),
    [
        ('"text"', Reply(b"text", "text/csv")),
        ('b"bytes"', Reply(b"bytes", "text/csv")),
        ('("text", "text/x-own")', Reply(b"text", "text/x-own")),
        ('{"a": [1]}', Reply(b'{"a": [1]}', "application/json")),
    ],
)
def test_every_kind_of_value_that_a_script_returns_becomes_a_reply(
    invoke: Invoke, tmp_path: Path, returned: str, reply: Reply
) -> None:
    write_script(
        tmp_path,
        f"def model_fn(model_dir): pass\ndef transform_fn(model, body, content_type, accept): return {returned}",
        "code/inference.py",
    )
    assert invoke(tmp_path, Invocation(b"", "", "text/csv"), program="code/inference.py") == [reply]


@pytest.mark.parametrize("answer", ["return body", "yield body"])
def test_an_async_function_which_nothing_awaits_fails_to_load(invoke: Invoke, tmp_path: Path, answer: str) -> None:
    functions = "def model_fn(d): pass\nasync def transform_fn(m, body, c, a): "
    write_script(tmp_path, functions + answer)
    with pytest.raises(LoadFailed, match=r"^transform_fn is an async function, .* asyncio\.run$"):
        invoke(tmp_path, CSV_ROW)


@pytest.mark.parametrize("use", ["body.decode('utf-8')", "io.StringIO(body).read()", "str(body)"])
def test_a_text_body_suits_scripts_written_for_str_and_for_bytes(invoke: Invoke, tmp_path: Path, use: str) -> None:
    write_script(
        tmp_path,
        f"import io\ndef model_fn(d): pass\ndef transform_fn(m, body, c, a): return {use}.upper()",
    )
    assert invoke(tmp_path, Invocation(b"caf\xc3\xa9", "text/csv; charset=utf-8"))[0].body.decode() == "CAFÉ"


def test_a_body_that_is_not_text_stays_bytes(invoke: Invoke, tmp_path: Path) -> None:
    write_script(tmp_path, "def model_fn(d): pass\ndef transform_fn(m, body, c, a): return body[::-1], c")
    assert invoke(tmp_path, Invocation(b"\x00\xff", "image/png")) == [Reply(b"\xff\x00", "image/png")]


def test_a_function_may_take_the_context_too(invoke: Invoke, tmp_path: Path) -> None:
    write_script(
        tmp_path,
        "def model_fn(model_dir, context): return context.system_properties['model_dir']\n"
        "def transform_fn(model, body, content_type, accept, context): return model",
    )
    assert invoke(tmp_path, CSV_ROW)[0].body == str(tmp_path).encode()


ASKS = """
import json
def model_fn(model_dir, context):
    return [context.manifest, context.system_properties["gpu_id"], context.system_properties["batch_size"]]
def transform_fn(model, body, content_type, accept, context):
    seen = [context.get_request_header(0, "ACCEPT"), context.request_processor[0].get_request_property("Content-Type")]
    before = [*context.get_response_status(0), context.get_response_content_type(0), len(context.get_request_id())]
    context.set_response_content_type(0, "text/x-mine")
    context.set_response_status(code=int(body), phrase="so", idx=0)
    after = [*context.get_response_status(0), context.get_response_content_type(0)]
    return json.dumps([model, seen, before, after])
"""


def test_the_context_has_multi_model_servers_names(invoke: Invoke, tmp_path: Path) -> None:
    write_script(tmp_path, ASKS)
    write_script(tmp_path, '{"model": "mine"}', "MAR-INF/MANIFEST.json")
    replies = invoke(tmp_path, *(Invocation(b"%d" % status, "text/csv", "text/x-own") for status in (202, 418, 599)))
    assert [reply.status for reply in replies] == [202, 418, 599]
    assert {reply.content_type for reply in replies} == {"text/x-own"}  # as in the toolkit
    assert json.loads(replies[1].body) == [
        [{"model": "mine"}, None, 1],
        ["text/x-own", "text/csv"],
        [200, None, None, 36],
        [418, "so", "text/x-mine"],
    ]


@pytest.mark.parametrize("status", [b"99", b"204", b"600"])
def test_a_status_that_no_answer_has_is_the_scripts_fault(invoke: Invoke, tmp_path: Path, status: bytes) -> None:
    write_script(tmp_path, ASKS)
    with pytest.raises(PredictionFailed, match=f"status cannot be sent with an answer: {status.decode()}"):
        invoke(tmp_path, Invocation(status, "text/csv"))


def test_the_contexts_headers_are_found_in_any_case() -> None:
    headers = Headers({"Accept": "a/b", "Content-Type": ""})
    headers["X-Own"] = "1"
    assert [headers["ACCEPT"], headers.get("x-OWN"), headers.get("Content-Type", "-")] == ["a/b", "1", "-"]
    assert ["aCCept" in headers, "content-type" in headers] == [True, False]
    headers["x-own"] = "2"
    assert json.dumps(headers) == '{"Accept": "a/b", "X-Own": "2"}'


HOOKS = """
told = []
def pre_model_fn(model_dir): told.append(["pre", model_dir])
def model_warmup_fn(model_dir, model, context): told.append(["warmup", type(model).__name__])
def predict_fn(rows, model): return told
"""


def test_the_steps_before_and_after_the_load_run_once(
    invoke: Invoke, tmp_path: Path, artifact: Callable[..., Path]
) -> None:
    """Also where the script leaves the load itself to the default."""
    artifact("model.joblib", tmp_path)
    write_script(tmp_path, HOOKS)
    replies = invoke(tmp_path, CSV_ROW, CSV_ROW)
    assert json.loads(replies[1].body) == [["pre", str(tmp_path)], ["warmup", "RandomForestRegressor"]]


def test_a_script_finds_its_own_helpers_and_keeps_state_between_calls(invoke: Invoke, tmp_path: Path) -> None:
    write_script(tmp_path, "seen = []", "code/memory.py")
    write_script(
        tmp_path,
        "import memory\ndef model_fn(d): pass\n"
        "def transform_fn(m, body, c, a):\n    memory.seen.append(body)\n    return str(len(memory.seen))",
        "code/inference.py",
    )
    replies = invoke(tmp_path, CSV_ROW, CSV_ROW, CSV_ROW, program="code/inference.py")
    assert [reply.body for reply in replies] == [b"1", b"2", b"3"]


def test_a_script_without_model_fn_gets_the_model_beside_it(
    invoke: Invoke, tmp_path: Path, artifact: Callable[..., Path], trained: Trained
) -> None:
    artifact("model.joblib", tmp_path)
    write_script(tmp_path, "def predict_fn(rows, model): return [type(model).__name__, float(model.predict(rows)[0])]")
    [reply] = invoke(tmp_path, CSV_ROW)
    assert json.loads(reply.body) == ["RandomForestRegressor", trained.forest.predict([[1, 2, 3, 4]])[0]]


@pytest.mark.parametrize("file", ["model.ubj", "model.onnx", *thorough("model.skops")])
def test_a_script_with_no_functions_at_all_serves_the_model_beside_it(
    invoke: Invoke, tmp_path: Path, artifact: Callable[..., Path], file: str
) -> None:
    artifact(file, tmp_path)
    write_script(tmp_path, "")
    from torpor_container.formats import Conventions, detect

    alone, path = detect(artifact(file))
    assert invoke(tmp_path, CSV_ROW) == [alone.load(path, Conventions()).invoke(replace(CSV_ROW))]


def test_a_booster_is_handed_to_a_script_with_a_dmatrix_as_sagemakers_container_does(
    invoke: Invoke, tmp_path: Path, artifact: Callable[..., Path], trained: Trained
) -> None:
    artifact("xgboost-model", tmp_path)
    write_script(
        tmp_path,
        "import os, xgboost\n"
        "def model_fn(d):\n    return xgboost.Booster(model_file=os.path.join(d, 'xgboost-model'))\n"
        "def predict_fn(data, model): return model.predict(data) + data.num_row()\n",
    )
    import xgboost

    expected = trained.booster.predict(xgboost.DMatrix([[1, 2, 3, 4]])) + 1
    assert json.loads(invoke(tmp_path, CSV_ROW)[0].body) == expected.tolist()


def test_the_default_output_follows_accept_and_the_default_input_its_content_type(
    invoke: Invoke, tmp_path: Path
) -> None:
    write_script(tmp_path, "def model_fn(d): pass\ndef predict_fn(rows, model): return rows.sum(axis=1)")
    as_csv, as_json = invoke(tmp_path, Invocation(b"1,2", "text/csv", "text/csv"), Invocation(b"[[3, 4]]", "json"))
    assert as_csv == Reply(b"3.0\n", "text/csv")
    assert as_json == Reply(b"[7.0]", "application/json")


RETURNS = """
import pandas as pd, scipy.sparse as sp
def model_fn(d): pass
def predict_fn(rows, model): return eval(WHAT[int(rows[0, 0])])
FRAME = "pd.DataFrame({'label': [0, 1], 'p': [0.25, 0.75]})"
WHAT = [FRAME, "sp.csr_matrix([[0, 1], [2, 0]])", "map(int, '12')", "b'x'"]
"""


def test_frames_and_arrays_are_written_as_rows_and_other_values_are_the_scripts_error(
    invoke: Invoke, tmp_path: Path
) -> None:
    write_script(tmp_path, RETURNS)
    replies = invoke(tmp_path, *(Invocation(b"%d" % number, "text/csv", "text/csv") for number in range(3)))
    assert [reply.body for reply in replies] == [b"0,0.25\n1,0.75\n", b"0,1\n2,0\n", b"1\n2\n"]
    with pytest.raises(PredictionFailed, match="type bytes cannot be written as text/csv: decode it, or return"):
        invoke(tmp_path, Invocation(b"3", "text/csv", "text/csv"))


def test_a_type_that_a_script_returns_beside_a_prediction_is_the_type_that_it_is_written_as(
    invoke: Invoke, tmp_path: Path
) -> None:
    write_script(
        tmp_path,
        "import numpy as np\ndef model_fn(d): pass\n"
        "def transform_fn(m, body, c, a): return np.array([[1.5, 2.5]]), 'text/csv'\n",
    )
    assert invoke(tmp_path, Invocation(b"1", "text/csv", "application/json")) == [Reply(b"1.5,2.5\n", "text/csv")]


def test_a_sparse_matrix_reaches_a_script_as_one(invoke: Invoke, tmp_path: Path) -> None:
    write_script(tmp_path, "def model_fn(d): pass\ndef predict_fn(rows, model): return [rows.format, *rows.shape]")
    stream = io.BytesIO()
    sparse.save_npz(stream, sparse.csr_matrix([[0.0, 1.5]]))
    [reply] = invoke(tmp_path, Invocation(stream.getvalue(), "application/x-npz"))
    assert json.loads(reply.body) == ["csr", 1, 2]


def test_a_scripts_pipeline_gets_a_frame_with_the_names_that_it_was_fitted_with(invoke: Invoke, tmp_path: Path) -> None:
    write_script(
        tmp_path,
        "import pandas as pd\n"
        "from sklearn.compose import ColumnTransformer\nfrom sklearn.linear_model import LinearRegression\n"
        "from sklearn.pipeline import make_pipeline\n"
        "def model_fn(d):\n"
        "    columns = ColumnTransformer([('size', 'passthrough', ['size'])])\n"
        "    rows = pd.DataFrame({'age': [9.0, 1.0, 5.0], 'size': [1.0, 2.0, 3.0]})\n"
        "    return make_pipeline(columns, LinearRegression()).fit(rows, rows['size'])\n"
        "def predict_fn(data, model): return [*data.columns, round(float(model.predict(data)[0]), 6)]\n",
    )
    [reply] = invoke(tmp_path, Invocation(b"size,age\n7,1\n", "text/csv; header=present"))
    assert json.loads(reply.body) == ["age", "size", 7.0]


@pytest.mark.parametrize(
    ("call", "error"), [(Invocation(b"x,1"), BadInput), (Invocation(b"1", "image/png"), UnsupportedContentType)]
)
def test_bad_input_to_the_defaults_is_still_the_callers_fault(
    invoke: Invoke, tmp_path: Path, call: Invocation, error: type[ContainerError]
) -> None:
    write_script(tmp_path, "def model_fn(d): pass\ndef predict_fn(rows, model): return rows")
    with pytest.raises(error):
        invoke(tmp_path, call)


def test_a_text_body_that_is_not_utf_8_is_the_callers_fault(invoke: Invoke, tmp_path: Path) -> None:
    write_script(tmp_path, "def model_fn(d): pass\ndef transform_fn(m, body, c, a): return body")
    with pytest.raises(BadInput, match="UTF-8"):
        invoke(tmp_path, Invocation(b"caf\xe9", "text/csv"))


OLD = Path(__file__).parent.parent / "xgboost" / "old_models"
UNPICKLED = "pickle.load(open(os.path.join(d, 'model'), 'rb'))"
LOADED = "xgboost.Booster(model_file=os.path.join(d, 'model'))"
AT_LOAD = "import os, pickle, xgboost\ndef model_fn(d): return {}\ndef predict_fn(x, m): return 1\n"
AT_CALL = "import os, pickle, xgboost\ndef model_fn(d): return d\ndef transform_fn(d, b, c, a): return {}\n"
PICKLED, BINARY = "was pickled with XGBoost 1.5 or before", "was saved in XGBoost's old binary format"


@pytest.mark.parametrize(
    ("file", "load", "why"),
    [
        ("booster-1.2.0.pkl", UNPICKLED, PICKLED),
        ("booster-0.90.pkl", UNPICKLED, PICKLED),
        ("classifier-1.2.0.pkl", UNPICKLED, PICKLED),
        ("booster-0.90.model", LOADED, BINARY),
    ],
)
@pytest.mark.parametrize("source", [AT_LOAD, AT_CALL], ids=["load", "call"])
def test_a_script_that_loads_a_model_of_an_old_xgboost_gets_advice_and_no_stack_of_cpp(
    invoke: Invoke, tmp_path: Path, file: str, load: str, why: str, source: str
) -> None:
    (tmp_path / "model").write_bytes((OLD / file).read_bytes())
    write_script(tmp_path, source.format(load))
    with pytest.raises((LoadFailed, PredictionFailed)) as raised:
        invoke(tmp_path, CSV_ROW)
    told = str(raised.value)
    assert told.startswith(f"A model of this script {why}")
    assert "Save it as .json or .ubj with the XGBoost that saved it, or leave the load to Torpor" in told
    assert "inference.py" in told, "where the script loads it"
    assert "[bt]" not in told
    assert "libxgboost" not in told


def test_another_error_of_xgboost_has_no_such_advice_and_no_stack_either(invoke: Invoke, tmp_path: Path) -> None:
    write_script(tmp_path, AT_LOAD.format("xgboost.Booster(model_file='/nobody.ubj')"))
    with pytest.raises(LoadFailed) as raised:
        invoke(tmp_path, CSV_ROW)
    assert "nobody.ubj" in str(raised.value)
    assert "[bt]" not in str(raised.value)
    assert "old" not in str(raised.value).splitlines()[0]


def test_transform_fn_beside_the_functions_it_replaces_is_refused(invoke: Invoke, tmp_path: Path) -> None:
    write_script(tmp_path, "def model_fn(d): pass\ndef transform_fn(m, b, c, a): pass\ndef input_fn(b, c): pass")
    with pytest.raises(LoadFailed, match="Cannot use transform_fn implementation in conjunction"):
        invoke(tmp_path)


def test_a_script_may_ask_for_every_header_that_aws_forwards(tmp_path: Path, zygote: ZygoteClient) -> None:
    source = """
def model_fn(model_dir): ...
def transform_fn(model, body, content_type, accept, context):
    told = context.get_all_request_header(0)
    return ",".join(f"{name}={value}" for name, value in sorted(told.items())), "text/plain"
"""
    write_script(tmp_path, source)
    invocation = Invocation(b"", "text/csv")
    invocation.headers = [
        (b"x-amzn-sagemaker-inference-id", b"call-7"),
        (b"x-amzn-sagemaker-target-model", b"houses/a.tar.gz"),
        (b"content-type", b"text/csv"),
        (b"x-torpor-secret", b"no"),
    ]

    async def story() -> bytes:
        async with started(zygote, tmp_path) as process:
            await process.loaded(30.0)
            return (await process.invoke(invocation)).body

    told = asyncio.run(story()).decode().split(",")
    assert told == [
        "Content-Type=text/csv",
        "X-Amzn-SageMaker-Inference-Id=call-7",
        "X-Amzn-SageMaker-Target-Model=houses/a.tar.gz",
    ]
