"""How each image runs a script, as a table: the context, bodies, and the defaults of input_fn, predict_fn, output_fn.

| image | server | one argument more | text bodies | rows by default | types of answers |
|---|---|---|---|---|---|
| Torpor's own | - | the context | text, also with parameters | the model's | as returned |
| scikit-learn, one model | Flask | its own | text, without parameters | float32 | Flask's, with charset |
| XGBoost, one model | Flask | its own | text, without parameters | a DMatrix | Flask's, with charset |
| scikit-learn, many | Multi Model Server | the context | text, without parameters | float32 | as returned |
| XGBoost, many | Multi Model Server | the context | text, without parameters | a DMatrix | as returned |

Sources: sagemaker_sklearn_container and sagemaker_xgboost_container (serving.py, handler_service.py, encoder.py),
sagemaker_containers (_transformer.py, _worker.py, _encoders.py), sagemaker_inference (transformer.py). The stand-ins
have their default functions, which `--aws-strict` calls. Without it, the default functions read and write more than
those, and what both take has the same types.
"""

from dataclasses import dataclass, replace
from functools import cache
from pkgutil import resolve_name
from typing import Any, Final

import numpy as np

from torpor_container.content import TOOLKIT, Answers
from torpor_container.content.media import CSV, JSON, media_type, with_charset
from torpor_container.errors import BadInput
from torpor_container.formats.format import Conventions
from torpor_container.formats.script.encodings.arrays import quoted_rows_to_csv
from torpor_container.image.aws_images import SCIKIT_LEARN_IMAGE, XGBOOST_IMAGE

TEXT_TYPES: Final = (JSON, CSV)
"""Bodies of these types are text to a script."""
HTML: Final = "text/html"
"""Flask's type of a body without one."""


class Text(str):
    """A body of a text type. The toolkit passes `str` to scripts, the framework containers `bytes`: this is both."""

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return str(self)


@dataclass(frozen=True)
class ScriptImage:
    """One row of the table. `defaults` is where the image's own default functions are: a module, or a class in one."""

    defaults: str = ""
    flask: bool = False
    as_float32: bool = False
    as_matrix: bool = False
    advises: bool = False
    """Whether the script's execution_parameters_fn is asked for what it advises for transform jobs."""
    strict: bool = False
    """Whether the image's own functions read, predict and write where the script does not (`--aws-strict`)."""

    @property
    def is_aws(self) -> bool:
        return bool(self.defaults)

    @property
    def untyped(self) -> str:
        """The content type of a request without one."""
        return JSON if self.flask else CSV

    def body(self, body: bytes, content_type: str) -> Any:
        """The body as a script gets it. Raises BadInput for a text that is not UTF-8."""
        kind = content_type if self.is_aws else content_type.partition(";")[0].strip().lower()
        if kind not in TEXT_TYPES:
            return body
        try:
            return Text(body, "utf-8", "replace" if self.flask and self.strict else "strict")
        except UnicodeDecodeError as error:
            raise BadInput(f"the body is not UTF-8: {error}") from None

    def rows(self, rows: Any, content_type: str) -> Any:
        """Rows that were read for a script, as the image's default input_fn gives them."""
        is_array = isinstance(rows, np.ndarray) and rows.dtype.kind in "fiub"
        if self.as_float32 and is_array and media_type(content_type) in TEXT_TYPES:
            with np.errstate(over="ignore"):
                return rows.astype(np.float32)
        if self.as_matrix and is_array:
            from xgboost import DMatrix

            return DMatrix(rows, nthread=1)
        return rows

    def default(self, name: str) -> Any:
        """A default function of the image itself, such as `input_fn`."""
        return getattr(_defaults(self.defaults), f"default_{name}")

    def answers(self, answers: Answers) -> Answers:
        """How predictions are written: CSV as the older toolkit of AWS's images writes it."""
        if not self.is_aws:
            return answers
        encoders = {kind: _csv if kind == CSV else encoder for kind, encoder in answers.encoders.items()}
        return replace(answers, encoders=encoders)

    def is_pair(self, length: int) -> bool:
        """Whether a tuple may be a body and its type: AWS's images take the first two of any."""
        return length == 2 or (self.is_aws and length > 2)

    def type_of(self, kind: str, named: bool) -> str:
        """The content type of an answer. `named`: the script or its caller named it, and not only the default."""
        if not self.flask:
            return kind
        return with_charset(kind if named or not self.strict else HTML)


@cache
def _defaults(name: str) -> Any:
    where = resolve_name(name)
    return where() if isinstance(where, type) else where


def _csv(prediction: Any) -> bytes:
    """Rows of plain values as the older toolkit writes them, where a float32 keeps its own digits."""
    if isinstance(prediction, np.ndarray | list | tuple):
        try:
            array = np.array(prediction)
        except ValueError:  # rows of several lengths
            return TOOLKIT.encoders[CSV](prediction)
        if array.ndim in (1, 2) and array.dtype.kind in "fiubU":
            return quoted_rows_to_csv(array).encode()
    return TOOLKIT.encoders[CSV](prediction)


TORPOR: Final = ScriptImage(advises=True)
SCIKIT_LEARN: Final = ScriptImage("sagemaker_sklearn_container.serving", flask=True, as_float32=True, advises=True)
XGBOOST: Final = ScriptImage("sagemaker_xgboost_container.serving", flask=True, as_matrix=True)
SCIKIT_LEARN_MULTI_MODEL: Final = ScriptImage(
    "sagemaker_sklearn_container.handler_service:HandlerService.DefaultSKLearnUserModuleInferenceHandler",
    as_float32=True,
)
XGBOOST_MULTI_MODEL: Final = ScriptImage(
    "sagemaker_xgboost_container.handler_service:HandlerService.DefaultXGBoostUserModuleInferenceHandler",
    as_matrix=True,
)


ONE: Final = {SCIKIT_LEARN_IMAGE: SCIKIT_LEARN, XGBOOST_IMAGE: XGBOOST}
MANY: Final = {SCIKIT_LEARN_IMAGE: SCIKIT_LEARN_MULTI_MODEL, XGBOOST_IMAGE: XGBOOST_MULTI_MODEL}
"""The rows by image, for instances of one model and of many."""


def image_of(conventions: Conventions) -> ScriptImage:
    """The row of an instance's conventions."""
    row = (MANY if conventions.multi_model else ONE).get(conventions.image, TORPOR)
    return replace(row, strict=conventions.strict and row.is_aws)
