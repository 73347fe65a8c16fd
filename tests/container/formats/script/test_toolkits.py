"""The toolkits of AWS's images: only scripts can import them, and a missing one raises an error with advice."""

import asyncio
import importlib.util
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.container.helpers.script_processes import started, write_script
from torpor_container.errors import PredictionFailed
from torpor_container.formats.script import toolkits
from torpor_container.formats.script.child_process import ScriptProcess
from torpor_container.invocation import Invocation
from torpor_container.processes.zygote_client import ZygoteClient

SCRIPT = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    told = {}
    exec(body, told)
    return told.get("answer", "fine")
"""


class Script:
    """A script that runs the code that it is sent, in one process for all tests of this file."""

    def __init__(self, loop: asyncio.AbstractEventLoop, process: ScriptProcess) -> None:
        self._loop, self._process = loop, process

    def run(self, source: str) -> bytes:
        return self._loop.run_until_complete(self._process.invoke(Invocation(source.encode(), "text/plain"))).body


@pytest.fixture(scope="module")
def script(zygote: ZygoteClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Script]:
    folder = tmp_path_factory.mktemp("model")
    write_script(folder, SCRIPT)
    with asyncio.Runner() as runner:
        starting = started(zygote, folder)
        process = runner.run(starting.__aenter__())
        runner.run(process.loaded(30.0))
        yield Script(runner.get_loop(), process)
        runner.run(starting.__aexit__(None, None, None))


@pytest.mark.parametrize(
    "lines",
    [
        """
        from sagemaker_inference import content_types, decoder, encoder
        assert decoder.decode("1,2\\n3,4", "text/csv").tolist() == [[1, 2], [3, 4]]
        assert decoder.decode(encoder.encode(decoder.decode("[1, 2]", content_types.JSON), "application/x-npy"),
            content_types.NPY).tolist() == [1, 2]
        assert encoder.encode([1, 2], content_types.CSV) == "1\\n2\\n"
        """,
        """
        from sagemaker_inference import decoder, errors
        try:
            decoder.decode(b"", "image/png")
        except errors.UnsupportedFormatError as error:
            assert "image/png is not supported" in str(error)
        """,
        """
        import pickle, numpy as np, io, os
        from sagemaker_inference import decoder
        class Harm:
            def __reduce__(self):
                return os._exit, (3,)
        body = io.BytesIO(); np.save(body, np.array([Harm()], dtype=object))
        try:
            decoder.decode(body.getvalue(), "application/x-npy")
        except ValueError as error:
            assert "allow_pickle" in str(error)
        """,
        """
        import sagemaker_inference.environment as e
        from sagemaker_inference.utils import retrieve_content_type_header, parse_accept
        assert e.Environment().module_name and e.code_dir.endswith("/code")
        assert retrieve_content_type_header({"ContentType": "a/b"}) == "a/b" and parse_accept("a, b") == ["a", "b"]
        """,
        """
        from sagemaker_inference.default_inference_handler import DefaultInferenceHandler
        from sagemaker_inference.default_handler_service import DefaultHandlerService
        from sagemaker_inference.transformer import Transformer
        class Handler(DefaultInferenceHandler):
            def default_predict_fn(self, data, model):
                return data.sum()
        assert DefaultHandlerService(Transformer(default_inference_handler=Handler()))
        assert Handler().default_output_fn([3], "application/json") == ("[3]", "application/json")
        """,
        """
        from sagemaker_containers.beta.framework import (
            content_types, encoders, env, modules, transformer, worker)
        import sagemaker_containers.beta.framework.worker
        assert encoders.encode([[1, 2]], content_types.CSV) == "1,2\\n"
        assert encoders.decode("1,2", content_types.CSV).tolist() == [1, 2]
        assert encoders.decode("a,b", content_types.CSV).tolist() == ["a", "b"]
        assert transformer.default_output_fn([1], "application/json").get_data(as_text=True) == "[1]"
        assert env.ServingEnv().default_accept == "application/json"
        """,
        """
        from sagemaker_xgboost_container import encoder as xgb_encoders
        import sagemaker_xgboost_container.encoder
        assert xgb_encoders.csv_to_dmatrix("0.4,0.2,\\n1,2,3").num_row() == 2
        assert xgb_encoders.csv_to_dmatrix(b"7").num_col() == 1
        assert xgb_encoders.csv_to_dmatrix("1;2;3").num_col() == 3
        assert xgb_encoders.decode(b"0:1 5:1", "text/libsvm").num_col() == 6
        assert xgb_encoders.json_to_jsonlines({"predictions": [{"a": 1}, 2]}) == b'{"a": 1}\\n2\\n'
        """,
        """
        from sagemaker_containers.beta.framework import errors
        from sagemaker_xgboost_container import encoder
        try:
            encoder.decode("", "image/png")
        except errors.UnsupportedFormatError:
            pass
        """,
        """
        import os, tempfile
        from sagemaker_xgboost_container.data_utils import get_dmatrix, get_content_type, get_size
        from sagemaker_xgboost_container import distributed
        from sagemaker_xgboost_container.constants.sm_env_constants import SM_MODEL_DIR
        from sagemaker_xgboost_container.constants import xgb_content_types
        from sagemaker_algorithm_toolkit.exceptions import UserError
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "a.csv"), "w").write("1,2,3\\n0,5,6\\n")
            matrix = get_dmatrix(folder, get_content_type("text/csv"))
            assert (matrix.num_row(), matrix.num_col()) == (2, 2) and matrix.get_label().tolist() == [1, 0]
        """,
        """
        import numpy as np, scipy.sparse as sp, io
        from sagemaker_containers.beta.framework import encoders
        from sagemaker_containers import _recordio
        rows = np.array([[1, 2, 0], [0, 5, 6]], "float32")
        dense = encoders.array_to_recordio_protobuf(rows, np.ones(2))
        assert len(list(_recordio._read_recordio(io.BytesIO(dense)))) == 2
        assert encoders.array_to_recordio_protobuf(rows[0]) == encoders.array_to_recordio_protobuf(rows[:1])
        from sagemaker_xgboost_container import encoder
        for body in (dense, encoders.array_to_recordio_protobuf(sp.csr_matrix(rows), np.ones(2))):
            matrix = encoder.decode(body, "application/x-recordio-protobuf")
            assert (matrix.num_row(), matrix.num_col()) == (2, 3)
        """,
        """
        from sagemaker_containers.beta.framework import encoders, errors
        assert encoders.csv_to_numpy('"a,b",2').tolist() == ["a,b", "2"]
        assert encoders.csv_to_numpy("1,2\\n3,4\\n").tolist() == [[1.0, 2.0], [3.0, 4.0]]
        assert encoders.json_to_numpy('{"a": 1}').shape == ()
        assert encoders.array_to_csv([["a,b", 1.5]]) == '"a,b",1.5\\n' and encoders.array_to_csv([1, 2]) == "1\\n2\\n"
        for broken in ('"a', "1,2\\n3"):
            try:
                encoders.csv_to_numpy(broken)
            except errors.ClientError as error:
                assert "Error while" in str(error)
            else:
                raise AssertionError(broken)
        """,
        """
        from sagemaker_containers.beta.framework import transformer
        from sagemaker_sklearn_container import serving
        from sagemaker_sklearn_container.handler_service import HandlerService as Sklearn
        from sagemaker_xgboost_container import serving as xgboost_serving
        from sagemaker_xgboost_container.handler_service import HandlerService as XGBoost
        for default in (transformer.default_model_fn, serving.default_model_fn, xgboost_serving.default_model_fn,
                Sklearn.DefaultSKLearnUserModuleInferenceHandler().default_model_fn,
                XGBoost.DefaultXGBoostUserModuleInferenceHandler().default_model_fn):
            try:
                default("/opt/ml/model")
            except NotImplementedError as error:
                assert "Please provide a model_fn implementation" in str(error)
        """,
        """
        import numpy as np
        from sagemaker_sklearn_container.handler_service import HandlerService
        defaults = HandlerService.DefaultSKLearnUserModuleInferenceHandler()
        assert HandlerService() and defaults.default_input_fn("1,2", "text/csv").dtype == "float32"
        assert defaults.default_output_fn(np.array([1.5]), "text/csv") == "1.5\\n"
        """,
        """
        import numpy as np, xgboost
        from sagemaker_xgboost_container.handler_service import HandlerService
        defaults = HandlerService.DefaultXGBoostUserModuleInferenceHandler()
        data = xgboost.DMatrix(np.eye(2), np.arange(2.0), feature_names=["a", "b"])
        model = xgboost.train({}, data, 1)
        prediction = defaults.default_predict_fn(defaults.default_input_fn("1,0", "text/csv"), model)
        from sagemaker_xgboost_container import serving
        same = serving.default_predict_fn(serving.default_input_fn("1,0", "text/csv"), model)
        response = serving.default_output_fn(same, "text/csv")
        assert same == prediction and response.content_type == "text/csv; charset=utf-8"
        assert defaults.default_output_fn(prediction, "text/csv") == f"{prediction[0]!s}\\n".encode()
        """,
        """
        from sagemaker_sklearn_container import serving
        response = serving.default_output_fn([[1.0]], "text/csv")
        assert (response.data, response.mimetype, response.status_code) == (b"1.0\\n", "text/csv", 200)
        assert response.content_type == "text/csv; charset=utf-8"
        assert serving.default_input_fn("[[1]]", "application/json").dtype == "float32"
        assert serving.default_input_fn("1,2,3", "text/csv").shape == (3,)
        """,
        """
        import os
        os.environ["SM_TRAINING_ENV"] = '{"model_dir": "/m", "hyperparameters": {"eta": 1}}'
        import sagemaker_containers
        from sagemaker_training import environment
        assert environment.Environment().model_dir == "/m"
        assert sagemaker_containers.training_env().hyperparameters == {"eta": 1}
        """,
    ],
)
def test_lines_of_public_scripts_run(script: Script, lines: str) -> None:
    assert script.run(textwrap.dedent(lines)) == b"fine"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "from sagemaker_inference import model_server",
            r"stand-in for sagemaker_inference has no model_server; it has",
        ),
        ("import sagemaker_containers.beta.framework.server", r"has no beta\.framework\.server; it has .*entry_point"),
        ("import sagemaker_xgboost_container.callback", r"install sagemaker-xgboost-container beside Torpor"),
        (
            "from sagemaker_containers.beta.framework import encoders; encoders.array_to_parquet",
            r"stand-in for sagemaker_containers\._encoders has no array_to_parquet; it has .*array_to_npy.* install",
        ),
        ("import sagemaker_inference; sagemaker_inference.decoders", r"sagemaker_inference has no decoders; it has"),
        ("import sagemaker_training as t; t.environment.Environment().jobb", "has no jobb of the training job; it has"),
    ],
)
def test_a_missing_part_of_a_toolkit_names_the_existing_ones(script: Script, line: str, says: str) -> None:
    with pytest.raises(PredictionFailed, match=says):
        script.run(line if "training" not in line else f"from sagemaker_training import environment; {line}")


def test_response_of_the_older_toolkit_is_a_body_a_type_and_a_status(tmp_path: Path, zygote: ZygoteClient) -> None:
    source = """
from sagemaker_containers.beta.framework import encoders, worker
def model_fn(model_dir):
    return None
def input_fn(body, content_type):
    return [body]
def predict_fn(data, model):
    return data
def output_fn(prediction, accept):
    return worker.Response(encoders.encode(prediction, accept), mimetype=accept, status="201 CREATED",
        headers={"X-Amzn-SageMaker-Custom-Attributes": "seen"})
"""
    write_script(tmp_path, source)

    async def story() -> None:
        async with started(zygote, tmp_path) as process:
            await process.loaded(30.0)
            reply = await process.invoke(Invocation(b"a", "text/csv", "application/json"))
        assert (reply.body, reply.content_type, reply.status) == (b'["a"]', "application/json", 201)
        assert reply.custom_attributes == "seen"

    asyncio.run(story())


def test_script_s_own_module_of_the_name_wins(tmp_path: Path, zygote: ZygoteClient) -> None:
    write_script(tmp_path, "OWN = 'mine'", "code/sagemaker_inference.py")
    source = "from sagemaker_inference import OWN\ndef transform_fn(m, b, c, a):\n    return OWN\ndef model_fn(d): ..."
    write_script(tmp_path, source, "code/inference.py")

    async def story() -> None:
        async with started(zygote, tmp_path, program="code/inference.py") as process:
            await process.loaded(30.0)
            assert (await process.invoke(Invocation(b""))).body == b"mine"

    asyncio.run(story())


def test_only_scripts_find_the_toolkits() -> None:
    assert "sagemaker_inference" in toolkits.NAMES
    assert [name for name in toolkits.NAMES if importlib.util.find_spec(name)] == []
