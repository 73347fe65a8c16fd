"""Every kind of record that is read from JSON reads what it has written, and no module reads records by hand."""

import ast
import json
from base64 import b64encode
from dataclasses import asdict, is_dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.example_counts import tries
from tests.helpers.record_kinds import built_by_hand, read_methods, record_classes, record_kinds
from tests.helpers.record_values import record_values
from tests.helpers.source_trees import ROOT, modules, nodes
from tests.helpers.thorough_values import one_in
from torpor_container.typed_json import read, written

KINDS = record_kinds()
FROM_ELSEWHERE = {
    "endpoint/torpor_endpoint/routing/router/forwarding.py": "the path is that of an ASGI scope",
    "endpoint/torpor_endpoint/core/model_choice/group_file.py": "a user writes it: bad fields are named",
    "endpoint/torpor_account/iam/identities/temporary.py": "the caller's own arguments",
}
"""The modules that make a record from a mapping which is no record, and why."""
OWN_FORMS = {
    "ColdStarts.read": "a row has the figures of its load among its own",
    "FaultState.read": "the rest of the schedule is a text in the language of schedules",
    "Identity.of": "it is what AWS's STS answers",
    "PreparedTls.read": "the parent of a server imports nothing for one record",
    "ReportAnswer.read": "its shares are by endpoint and variant, and a key of JSON is one text",
    "RouterReport.read": "its traffic is by endpoint and variant, and a key of JSON is one text",
    "RoutingTable.read": "an address of an instance is one of three things",
}
"""The methods that read a record from JSON which looks otherwise than the record, and how."""


@pytest.mark.parametrize("name", one_in(2, KINDS))
@settings(max_examples=tries(4))
@given(data=st.data())
def test_what_a_record_has_written_it_reads(name: str, data: st.DataObject) -> None:
    record: Any = data.draw(record_values(KINDS[name]))
    text = json.dumps(written(record), allow_nan=False)
    assert read(KINDS[name], json.loads(text)) == record
    if is_dataclass(record) and not isinstance(record, type):
        assert text == json.dumps(
            asdict(record), default=lambda value: b64encode(value).decode() if isinstance(value, bytes) else list(value)
        )


def test_no_module_makes_a_record_from_a_mapping_by_hand() -> None:
    classes = record_classes()
    found = {str(path.relative_to(ROOT)): built_by_hand(nodes(path), classes) for path in modules().values()}
    assert {path: calls for path, calls in found.items() if calls}.keys() == FROM_ELSEWHERE.keys()


def test_only_records_whose_json_looks_otherwise_have_readers_of_their_own() -> None:
    assert {name for path in modules().values() for name in read_methods(nodes(path))} == OWN_FORMS.keys()


@pytest.mark.parametrize(
    "reader",
    [
        "Variant(**record)",
        'Variant(**{**record, "capture": None})',
        'records.Variant(record["name"], 1)',
        'Variant(str(record.get("name")))',
        'Variant(weight=float(record["weight"]))',
    ],
)
def test_a_reader_by_hand_is_found(reader: str) -> None:
    assert built_by_hand(ast.walk(ast.parse(reader)), {"Variant": {"name", "weight"}})
    assert not built_by_hand(
        ast.walk(ast.parse("Variant(name, weight=given['a weight'])")), {"Variant": {"name", "weight"}}
    )


def test_a_method_that_reads_a_mapping_is_found() -> None:
    method = "@classmethod\n    def read(cls, json: Mapping[str, Any]) -> 'Variant': ..."
    assert read_methods(ast.walk(ast.parse(f"class Variant:\n    {method}"))) == ["Variant.read"]
