"""Each fault of a body or an answer becomes one of the container's errors, and harms no other call."""

from typing import Any, NoReturn

import pytest

from torpor_container.content import TOOLKIT
from torpor_container.errors import BadInput, ContainerError, OutOfMemory, PredictionFailed, UnsupportedContentType
from torpor_container.formats.served import ServedModel
from torpor_container.invocation import Invocation

RAISED = {
    "a value": (ValueError("no\n number"), BadInput, "no number"),
    "a type": (TypeError(), BadInput, "TypeError"),
    "too deep": (RecursionError("too deep"), BadInput, "too deep"),
    "no memory": (MemoryError("no room"), OutOfMemory, "no room"),
    "one of ours": (UnsupportedContentType("no such type"), UnsupportedContentType, "no such type"),
}


def model(error: Exception) -> ServedModel[list[float]]:
    def read(call: Invocation) -> list[float]:
        if call.body == b"bad":
            raise error
        return [float(call.body)]

    return ServedModel("test", object(), read, lambda rows: rows, TOOLKIT, rowwise=True)


@pytest.mark.parametrize("name", RAISED)
def test_an_error_raised_while_a_body_is_read_becomes_a_container_error(name: str) -> None:
    error, becomes, said = RAISED[name]
    with pytest.raises(becomes, match=f"{said}$") as raised:
        model(error).invoke(Invocation(b"bad"))
    assert isinstance(raised.value, ContainerError)


def test_a_body_that_can_not_be_read_among_others_is_its_callers_alone() -> None:
    good, bad, other = model(TypeError()).invoke_together([Invocation(b"1"), Invocation(b"bad"), Invocation(b"2")])
    assert isinstance(bad, BadInput)
    assert [one.body for one in (good, other) if not isinstance(one, Exception)] == [b"[1.0]", b"[2.0]"]


class Unwritable:
    """A prediction that cannot be written."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def tolist(self) -> NoReturn:
        raise self.error


@pytest.mark.parametrize(
    ("error", "becomes"), [(ValueError("no list"), PredictionFailed), (MemoryError("no list"), OutOfMemory)]
)
def test_an_answer_that_cannot_be_written_is_the_models_fault_and_not_the_callers(
    error: Exception, becomes: type[ContainerError]
) -> None:
    def predict(rows: object) -> Any:
        return Unwritable(error)

    served = ServedModel("test", object(), lambda call: call.body, predict, TOOLKIT, refusals=(ValueError,))
    with pytest.raises(becomes, match="no list"):
        served.invoke(Invocation(b"1"))
