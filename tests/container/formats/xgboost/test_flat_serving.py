"""Bodies are answered and refused alike, whether XGBoost or flat trees serve the booster."""

import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from math import inf, nan
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse
import xgboost

from tests.container.helpers.boosters_of_all_objectives import COLUMNS, asked, booster, training
from tests.helpers.thorough_values import thorough
from torpor_container.content.media import CSV, JSON, JSONLINES, LIBSVM, NPY, NPZ, RECORDIO
from torpor_container.errors import ContainerError, LoadFailed
from torpor_container.formats import Conventions
from torpor_container.formats.format import Mapped, ServableModel
from torpor_container.formats.xgboost import boosters, flat_conversion, flat_serving, xgboost_format
from torpor_container.formats.xgboost.boosters import Member
from torpor_container.image.aws_images import SELECTABLE
from torpor_container.invocation import Invocation
from torpor_container.trees import walking
from torpor_container.trees.flat_trees import UnsoundTrees

if walking.extension() is None:
    pytest.skip("the extension was not built: there is no C compiler", allow_module_level=True)

AWS, STRICT = Conventions(image="xgboost"), Conventions(image="xgboost", strict=True)
ALL = [Conventions(), Conventions(multi_model=False), AWS, STRICT]


@dataclass
class Both:
    """One booster, served by XGBoost and by flat trees."""

    library: ServableModel
    flat: ServableModel

    @classmethod
    def of(cls, trained: Any, conventions: Conventions, missing: float = nan, pickled: bool = False) -> "Both":
        library = boosters.serve(trained, conventions, missing, pickled=pickled)
        content = flat_conversion.converted(Member(trained, missing, pickled=pickled))
        return cls(library, flat_serving.serve(content, Mapped("trees", len(content)), conventions))

    def answers(self, body: bytes, content_type: str, accept: str = "") -> tuple[Any, Any]:
        one, other = (outcome(model, Invocation(body, content_type, accept)) for model in (self.library, self.flat))
        return one, other


@cache
def both(objective: str, conventions: Conventions) -> Both:
    """One for all bodies: a conversion proves itself by thousands of rows."""
    return Both.of(booster(objective), conventions)


def outcome(model: ServableModel, invocation: Invocation) -> Any:
    try:
        reply = model.invoke(invocation)
    except ContainerError as error:
        return type(error), str(error)
    return reply.body, reply.content_type


def npy(rows: Any) -> bytes:
    stream = BytesIO()
    np.save(stream, rows)
    return stream.getvalue()


def npz(rows: Any, kind: str = "csr") -> bytes:
    stream = BytesIO()
    scipy.sparse.save_npz(stream, getattr(scipy.sparse, f"{kind}_matrix")(rows))
    return stream.getvalue()


SPARSE = np.where(np.random.default_rng(1).random((300, COLUMNS)) < 0.6, 0, asked(9, 300))
BODIES: dict[str, tuple[bytes, str]] = {
    "a row": (b"0.1,0.2,0.3,-0.4,1.5,0.6", CSV),
    "rows with missing cells": (b"0.1,,0.3,nan,,0.6\n1,2,3,4,5,6\n,,,,,", CSV),
    "a row of JSON": (b"[[0.1, 0.2, null, -0.0, 1.5, 1e30]]", JSON),
    "lines of JSON": (b'{"features": [1, 2, 3, 4, 5, 6]}\n{"features": [6, 5, 4, 3, 2, 1]}', JSONLINES),
    "libsvm": (b"0:0.5 3:0.25\n1 1:0.5", LIBSVM),
    "libsvm with one column more": (b"1:0.5 6:0.25", LIBSVM),
    "an array of float64": (npy(asked(1, 700).astype(np.float64)), NPY),
    "an array in columns": (npy(np.asfortranarray(asked(1, 50))), NPY),
    "many rows": (npy(asked(2, 5000)), NPY),
    "a sparse matrix": (npz(SPARSE), NPZ),
    "a sparse matrix in columns": (npz(SPARSE, "csc"), NPZ),
    "a sparse matrix with infinity": (npz(np.array([[0, 1, 0, np.inf, 0, 0]])), NPZ),
    "infinity": (npy(np.array([[1, 2, np.inf, 4, 5, 6]])), NPY),
    "negative infinity": (npy(np.array([[1, 2, -np.inf, 4, 5, 6]])), NPY),
    "a number that float32 cannot hold": (npy(np.array([[1e300, 2, 3, 4, 5, 6]])), NPY),
    "a large number as text": (b"1,2,3,4,5,1e300", CSV),
    "a column too few": (b"1,2,3,4,5", CSV),
    "a column too many": (b"1,2,3,4,5,6,7", CSV),
    "an array with a column too many": (npy(np.zeros((2, COLUMNS + 1))), NPY),
    "no number": (b"1,2,3,4,5,six", CSV),
    "nothing": (b"", CSV),
    "no rows": (npy(np.zeros((0, COLUMNS))), NPY),
    "another content type": (b"1", "image/png"),
}
ACCEPTS = ["", CSV, JSON, JSONLINES, RECORDIO, NPY, "image/png"]


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    "conventions", [ALL[0], *thorough(ALL[1]), ALL[2], *thorough(ALL[3])], ids=["many", "one", "aws", "strict"]
)
@pytest.mark.parametrize(
    "objective", ["multi:softprob", "reg:quantileerror", *thorough("binary:logistic", "multi:softmax")]
)
def test_a_body_has_the_same_answer_or_the_same_refusal(objective: str, conventions: Conventions, body: str) -> None:
    served = both(objective, conventions)
    for accept in ACCEPTS:
        library, flat = served.answers(*BODIES[body], accept)
        assert flat == library


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("missing", [0.0, -999.0, inf])
def test_a_wrapper_with_a_number_for_missing_cells_has_the_same_answers(missing: float) -> None:
    served = Both.of(booster("reg:squarederror"), Conventions(), missing)
    rows = asked(1, 50)
    rows.ravel()[::4] = missing
    bodies = [(npy(rows), NPY), (npz(np.where(np.isfinite(rows), rows, 1)), NPZ), *BODIES.values()]
    for body, content_type in bodies:
        library, flat = served.answers(body, content_type)
        assert flat == library


@pytest.mark.parametrize("body", [b"1,2,3,4,5", b"1,2,3,4"])
def test_strictly_a_short_row_of_a_pickle_has_the_same_answer(body: bytes) -> None:
    library, flat = Both.of(booster("reg:squarederror"), STRICT, pickled=True).answers(body, CSV)
    assert flat == library


@pytest.mark.parametrize("objective", ["binary:logistic", "multi:softmax", "multi:softprob", "reg:gamma"])
@pytest.mark.parametrize("accept", [CSV, JSON, JSONLINES, RECORDIO])
def test_selected_outputs_are_the_same(objective: str, accept: str) -> None:
    served = Both.of(booster(objective), Conventions(inference_output=",".join(SELECTABLE)))
    library, flat = served.answers(*BODIES["rows with missing cells"], accept)
    assert flat == library


def test_an_output_that_the_objective_lacks_is_refused_as_it_is_loaded() -> None:
    file = flat_conversion.converted(Member(booster("count:poisson")))
    with pytest.raises(LoadFailed, match="Objective `count:poisson` unsupported for selectable inference"):
        flat_serving.serve(file, Mapped("trees", 1), Conventions(inference_output="probability"))


def test_columns_are_matched_by_their_names() -> None:
    matrix = training("reg:squarederror", 0)
    matrix.feature_names = ["länge", "b", "c", "d", "e", "f"]
    served = Both.of(xgboost.train({"nthread": 1}, matrix, 3), Conventions())
    for header in (b"f,e,d,c,b,l\xc3\xa4nge", b"f,e,d,c,b,other"):
        library, flat = served.answers(header + b"\n1,2,3,4,5,6", CSV)
        assert flat == library


def test_requests_that_share_a_prediction_have_their_own_answers() -> None:
    served = Both.of(booster("multi:softprob"), Conventions())
    calls = [Invocation(b"0.1,0.2,0.3,-0.4,1.5,0.6", CSV), Invocation(b"1,2,3", CSV), Invocation(npy(asked(1, 3)), NPY)]
    alone = [outcome(served.library, Invocation(one.body, one.content_type)) for one in calls]
    together = served.flat.invoke_together(calls)
    assert [(type(one), str(one)) if isinstance(one, Exception) else one[:2] for one in together] == alone


def test_a_closed_model_answers_no_more() -> None:
    flat = Both.of(booster("reg:squarederror"), Conventions()).flat
    flat.close()
    with pytest.raises(ContainerError):
        flat.invoke(Invocation(*BODIES["a row"]))


def open_flat(path: Path, mapped: Mapped, conventions: Conventions) -> ServableModel:
    assert xgboost_format.FORMAT.mapped is not None
    return xgboost_format.FORMAT.mapped.open(path, mapped, conventions)


# -- what may be loaded ------------------------------------------------------------------------------------------------
def made(path: Path, file: Path) -> dict[str, str]:
    with file.open("wb") as target:
        return xgboost_format.write_flat({"path": str(path)}, [target.fileno()])


def test_flat_trees_of_a_pickle_are_not_served_where_pickles_are_refused(tmp_path: Path) -> None:
    path, file = tmp_path / "xgboost-model", tmp_path / "model.trees"
    joblib.dump(booster("reg:squarederror"), path)
    assert made(path, file)["note"].startswith("flat trees answer, equal to XGBoost")
    mapped = Mapped(str(file), file.stat().st_size)
    model = open_flat(path, mapped, Conventions())
    assert model.mapped == mapped
    assert outcome(model, Invocation(*BODIES["a row"], CSV))[1] == CSV
    with pytest.raises(LoadFailed, match="TORPOR_PICKLES=refuse forbids it"):
        open_flat(path, mapped, Conventions(pickles=False))
    with pytest.raises(LoadFailed, match="TORPOR_TRUST=data forbids it"):
        open_flat(path, mapped, Conventions(trust="data"))


def test_an_older_binary_model_is_not_served_where_only_data_is_trusted(tmp_path: Path) -> None:
    old, file = Path(__file__).parent / "old_models" / "booster-0.90.model", tmp_path / "model.trees"
    content = flat_conversion.converted(Member(booster("reg:squarederror")))
    file.write_bytes(content)
    mapped = Mapped(str(file), len(content))
    open_flat(old, mapped, Conventions())
    with pytest.raises(LoadFailed, match="old binary format"):
        open_flat(old, mapped, Conventions(trust="data"))


def test_a_model_without_flat_trees_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    booster("reg:squarederror", booster="dart").save_model(path)
    assert made(path, tmp_path / "file") == {"refused": "its booster is dart, and flat trees are for gbtree alone"}


def test_a_damaged_file_is_not_served(tmp_path: Path) -> None:
    path, file = tmp_path / "model.json", tmp_path / "model.trees"
    booster("reg:squarederror").save_model(path)
    made(path, file)
    broken = bytearray(file.read_bytes())
    broken[100] ^= 1
    file.write_bytes(broken)
    with pytest.raises(UnsoundTrees, match="its checksum differs"):
        open_flat(path, Mapped(str(file), len(broken)), Conventions())


def test_a_model_serves_without_its_library(tmp_path: Path) -> None:
    path, file = tmp_path / "model.json", tmp_path / "model.trees"
    booster("binary:logistic").save_model(path)
    made(path, file)
    program = (
        "import sys; from pathlib import Path; from torpor_container.formats import Conventions; "
        "from torpor_container.formats.format import Mapped; from torpor_container.invocation import Invocation; "
        "from torpor_container.formats.xgboost import xgboost_format; "
        "model = xgboost_format.FORMAT.mapped.open(Path(sys.argv[1]), Mapped(sys.argv[2], 1), Conventions()); "
        "answer = model.invoke(Invocation(b'1,2,3,4,5,6', 'text/csv', 'text/csv')).body.decode(); "
        "print(answer, 'xgboost' in sys.modules)"
    )
    run = [sys.executable, "-c", program, str(path), str(file)]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    served = boosters.serve(booster("binary:logistic"), Conventions())
    expected = served.invoke(Invocation(b"1,2,3,4,5,6", CSV, CSV)).body.decode()
    assert said == [expected, "False"]
