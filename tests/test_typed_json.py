"""Every kind of record that is read from JSON reads what it has written, and no module reads records by hand."""

import json
from base64 import b64encode
from dataclasses import asdict, is_dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.record_kinds import record_kinds
from tests.helpers.record_values import record_values
from torpor_container.typed_json import read, written

KINDS = record_kinds()


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=15)
@given(data=st.data())
def test_what_a_record_has_written_it_reads(name: str, data: st.DataObject) -> None:
    record: Any = data.draw(record_values(KINDS[name]))
    text = json.dumps(written(record), allow_nan=False)
    assert read(KINDS[name], json.loads(text)) == record
    if is_dataclass(record) and not isinstance(record, type):
        assert text == json.dumps(
            asdict(record), default=lambda value: b64encode(value).decode() if isinstance(value, bytes) else list(value)
        )
