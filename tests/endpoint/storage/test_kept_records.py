"""A data folder of an earlier version opens: its records, as that version wrote them, are read whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.record_kinds import record_kinds
from torpor_container.typed_json import UnreadableRecord, read, written
from torpor_endpoint.core.resource_records import EndpointRecord, Variant

BEFORE: dict[str, Any] = json.loads(Path(__file__).with_name("records_before.json").read_text())
"""A record of each kind with all its fields, as the version wrote it that read each kind by a function of its own."""


@pytest.mark.parametrize("name", BEFORE)
def test_a_record_of_an_earlier_version_is_read_whole(name: str) -> None:
    assert json.dumps(written(read(record_kinds()[name], BEFORE[name]))) == json.dumps(BEFORE[name])


def test_fields_that_an_earlier_version_did_not_have_get_their_defaults() -> None:
    names = ("name", "model_name", "containers", "weight", "serverless")
    variant = {name: BEFORE["EndpointRecord"]["variants"][0][name] for name in names}
    assert read(Variant, variant).asynchronous is None
    assert read(Variant, variant).startup_timeout_s == 480.0


def test_fields_of_a_later_version_are_passed_over() -> None:
    later = {**BEFORE["EndpointRecord"], "mood": "calm"}
    assert read(EndpointRecord, later) == read(EndpointRecord, BEFORE["EndpointRecord"])


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({"name": 7}, r"no EndpointRecord: Expected `str`, got `int` - at `\$.name`"),
        ({"status": "Asleep"}, r"no EndpointRecord: Invalid enum value 'Asleep' - at `\$.status`"),
        ({"variants": [{"name": "a"}]}, r"Object missing required field `model_name` - at `\$.variants\[0\]`"),
    ],
)
def test_what_is_no_record_is_named_with_its_field(broken: dict[str, Any], says: str) -> None:
    with pytest.raises(UnreadableRecord, match=says):
        read(EndpointRecord, {**BEFORE["EndpointRecord"], **broken})
