"""The bytes of a tensor in binary, wherever in the body they begin."""

import numpy as np
import pytest

from torpor_container.content.open_inference.tensor_bytes import array_of, bytes_of


@pytest.mark.parametrize("datatype", ["FP32", "FP64", "INT16", "UINT64", "FP16"])
@pytest.mark.parametrize("before", range(9))
def test_tensors_behind_a_head_of_any_length_are_arrays_that_compiled_code_takes(datatype: str, before: int) -> None:
    kind = {"FP32": "f4", "FP64": "f8", "INT16": "i2", "UINT64": "u8", "FP16": "f2"}[datatype]
    wanted = np.arange(6, dtype=kind).reshape(2, 3)
    body = memoryview(bytes(before) + bytes_of(wanted))
    found = array_of("x", datatype, (2, 3), body[before:])
    assert found.flags.aligned
    np.testing.assert_array_equal(found, wanted)
