"""A loaded model of any framework as three steps: read the body, predict, write the answer.

Here, and only here, what a framework raises becomes the container's errors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

from torpor_container.content import Answers
from torpor_container.errors import BadInput, OutOfMemory, PredictionFailed
from torpor_container.invocation import Invocation, Reply

Inputs = TypeVar("Inputs")


@dataclass(slots=True)
class ServedModel(Generic[Inputs]):
    """`native` is the framework's own object. `refusals` are what it raises where the caller's rows are at fault."""

    format: str
    native: Any
    read: Callable[[Invocation], Inputs]
    predict: Callable[[Inputs], Any]
    answers: Answers
    refusals: tuple[type[Exception], ...] = ()

    def invoke(self, invocation: Invocation) -> Reply:
        """Raises BadInput, UnsupportedContentType, NotAcceptable, PredictionFailed, OutOfMemory."""
        kind = self.answers.choose(invocation.accept)
        inputs = self.read(invocation)
        try:
            return Reply(self.answers.encode(self.predict(inputs), kind), kind)
        except MemoryError as error:
            raise OutOfMemory(f"out of memory while predicting: {error}") from error
        except self.refusals as error:
            raise BadInput(f"the model refuses the rows: {_first_line(error)}") from error
        except BaseException as error:  # a model may raise anything, even SystemExit, and it is its own fault
            raise PredictionFailed.because(error) from error

    def close(self) -> None:
        """Let go of the framework's object, whoever still holds this one."""
        self.native = None
        self.predict = _closed


def _closed(inputs: object) -> NoReturn:
    raise RuntimeError("the model was unloaded")


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
