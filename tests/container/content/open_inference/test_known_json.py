"""JSON that is known by its bytes says what it would say if it were read, and a wrong request is refused alike."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.content.open_inference.infer_request import KNOWN, InferRequest, read_request
from torpor_container.content.open_inference.known_json import KNOWN_MAX, KNOWN_MAX_BYTES
from torpor_container.core.protocols.protocol_types import TENSORS
from torpor_container.errors import BadInput

INPUT = {"name": "x", "shape": [2, 2], "datatype": "FP32", "parameters": {"binary_data_size": 16}}
DATA = np.array([1.5, -2.0, 3.0, 4.0], np.float32).tobytes()


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    KNOWN.clear()
    yield
    KNOWN.clear()


def outcome(head: bytes, data: bytes) -> Any:
    """What is read, in values that can be compared, or the refusal."""
    try:
        read = read_request(head + data, f"{TENSORS};json-header-size={len(head)};model-name=a%2Fb")
    except BadInput as error:
        return str(error)
    return [_compared(read), *read[1:]]


def _compared(read: InferRequest) -> Any:
    tensors = read.tensors.values()
    return [
        (one.name, one.shape, one.datatype, one.values, one.array is not None and (str(one.array.dtype), cells_of(one)))
        for one in tensors
    ]


def cells_of(tensor: Any) -> Any:
    return tensor.array.tobytes() if tensor.datatype != "BYTES" else tensor.array.tolist()


def read_twice(first: bytes, second: bytes, data: bytes) -> tuple[Any, Any]:
    """What a request says after another one, and without."""
    KNOWN.clear()
    outcome(first, data)
    after = outcome(second, data)
    KNOWN.clear()
    return after, outcome(second, data)


FORMS = (
    '{"id": "%s", "inputs": [%s]}',
    '{"inputs": [%s], "id" :"%s"}\n',
    '{"inputs": [%s], "id":\t"%s", "outputs": []}',
)


@pytest.mark.parametrize("form", FORMS)
def test_requests_that_differ_in_their_id_are_read_once(form: str) -> None:
    for number in range(3):
        parts = (f"request {number}", json.dumps(INPUT))
        head = form % (parts if form.startswith('{"id"') else parts[::-1])
        assert outcome(head.encode(), DATA)[3] == f"request {number}"
    assert len(KNOWN) == 1


NOT_THE_ID = (
    '{"model_name": {"id": "7"}, "inputs": [%s]}',
    '{"model_name": {"id": "7"}, "i\\u0064": "7", "inputs": [%s]}',
    '{"model_name": {"id": "7"}, "i\\u0064": "", "inputs": [%s]}',
    '{"model_name": "\\"id", "inputs": [%s]}',
    '{"id": "", "inputs": [%s]}',
    '{"id": "\\u0037", "inputs": [%s]}',
    '{"id": "é", "inputs": [%s]}',
    '{"id": null, "inputs": [%s]}',
)


@pytest.mark.parametrize("form", NOT_THE_ID)
def test_what_is_not_surely_an_id_is_not_left_out(form: str) -> None:
    head = (form % json.dumps(INPUT)).encode()
    assert outcome(head, DATA) == outcome(head, DATA)
    assert list(KNOWN) == ([head] if '"id":' not in form else [])


def test_arrays_may_be_changed_whatever_is_known_and_however_long_the_json_is() -> None:
    for length in range(8):
        head = json.dumps({"inputs": [{**INPUT, "name": "x" * (length + 1)}]}).encode()
        for _ in range(2):
            read = read_request(head + DATA, f"{TENSORS};json-header-size={len(head)}")
            (one,) = read.tensors.values()
            array = one.array
            assert array.flags.aligned
            array *= 2
            assert array.ravel().tolist() == [3.0, -4.0, 6.0, 8.0]


def test_no_more_json_is_known_than_a_bounded_number_of_short_ones() -> None:
    for number in range(3 * KNOWN_MAX):
        outcome(json.dumps({"inputs": [{**INPUT, "name": f"x{number}"}]}).encode(), DATA)
        assert 0 < len(KNOWN) <= KNOWN_MAX
    KNOWN.clear()
    outcome(json.dumps({"inputs": [{**INPUT, "name": "x" * KNOWN_MAX_BYTES}]}).encode(), DATA)
    outcome(json.dumps({"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]}).encode(), b"")
    assert not KNOWN


def test_known_json_with_other_data_is_refused_as_if_it_were_unknown() -> None:
    head = json.dumps({"inputs": [INPUT]}).encode()
    assert outcome(head, DATA)[1:] == outcome(head, DATA)[1:]
    assert "12 bytes are left of the body" in outcome(head, DATA[:12])
    assert "4 bytes follow the last tensor" in outcome(head, DATA + b"more")


# -- any JSON ----------------------------------------------------------------------------------------------------------
PLAIN_IDS = st.text("abc 7:{},[]é", max_size=6).map(lambda one: f'"{one}"')
IDS = st.one_of(
    PLAIN_IDS,
    PLAIN_IDS,
    st.sampled_from(['"\\u0037"', '"\\""', '"\\\\"', '"a\x01"', "7", "null", '"', '"7', "[]", '"\\']),
)
SPACES = st.sampled_from(["", "", "", " ", "\n\t", "\x0b"])
BYTES_OF = {
    '{"name": "x", "shape": [1], "datatype": "FP32", "parameters": {"binary_data_size": 4}}': 4,
    '{"name": "id", "shape": [2], "datatype": "INT16", "parameters": {"binary_data_size": 4}}': 4,
    '{"name": "y", "shape": [0, 3], "datatype": "FP64", "parameters": {"binary_data_size": 0}}': 0,
    '{"name": "z", "shape": [], "datatype": "BOOL", "parameters": {"binary_data_size": 1}}': 1,
    '{"name": "b", "shape": [1], "datatype": "BYTES", "parameters": {"binary_data_size": 4}}': 4,
    '{"name": "p", "shape": [1], "datatype": "FP32", "parameters": {"binary_data_size": 4, "id": "7"}}': 4,
    '{"name": "j", "shape": [1], "datatype": "FP32", "data": [1]}': 0,
}
"""How many bytes of data each tensor has."""
USUAL = list(BYTES_OF)[:5]
ID_KEYS = st.sampled_from(['"id"'] * 6 + ['"i\\u0064"', '"\\"id"', '"a,"id"'])
ID_MEMBERS = st.tuples(SPACES, ID_KEYS, SPACES, st.just(":"), SPACES, st.just("%s"), SPACES).map("".join)
OTHER_MEMBERS = st.sampled_from(
    [
        '"parameters": {"binary_data_output": true}',
        '"outputs": [{"name": "a", "parameters": {"binary_data": true}}]',
        '"outputs": [{"name": "id"}]',
        '"model_name": "a, \\"id\\": \\"7\\""',
        '"model_name": {"id": %s}',
        '"parameters": {"binary_data_output": true, "id": "7"}',
        '"inputs": []',
    ]
)
TENSORS_OF_ONE = st.lists(st.sampled_from(USUAL), min_size=1, max_size=3, unique=True) | st.lists(
    st.sampled_from(list(BYTES_OF)), min_size=1, max_size=3
)
AROUND = st.sampled_from(["{%s}"] * 8 + ["{%s} ", " {%s}", "[{%s}]", "{%s", "{%s}}", '{%s} "id": "7"}', "\ufeff{%s}"])
MORE_DATA = st.sampled_from([0, 0, 0, 0, 1, -1])


class Case(NamedTuple):
    """The JSON of a request, with a place for its id, and the data behind it."""

    json: str
    data: bytes

    def text(self, request_id: str) -> bytes:
        return self.json.replace("%s", request_id).encode()


@st.composite
def cases(draw: st.DrawFn) -> Case:
    tensors = draw(TENSORS_OF_ONE)
    members = [
        *draw(st.lists(ID_MEMBERS, min_size=1, max_size=1) | st.lists(ID_MEMBERS, max_size=2)),
        *draw(st.lists(OTHER_MEMBERS, max_size=2)),
        f'"inputs": [{", ".join(tensors)}]',
    ]
    joined = ",".join(draw(st.permutations(members)))
    size = sum(BYTES_OF[one] for one in tensors) + draw(MORE_DATA)
    return Case(draw(AROUND).replace("%s", joined, 1), bytes(max(size, 0)))


@given(cases(), IDS, IDS)
def test_any_json_says_the_same_whatever_is_known(case: Case, first: str, second: str) -> None:
    texts = case.text(first), case.text(second)
    for one, other in (texts, texts[:1] * 2):
        after, anew = read_twice(one, other, case.data)
        assert after == anew
