"""The environment variables of AWS's images, and their effect here."""

import re

import pytest

from torpor_container.app import InstanceProcess
from torpor_container.image.variables import BY_NAME, VARIABLES, Effect, fault, notes
from torpor_container.settings import SETTINGS, Settings, unknown


def test_every_setting_with_a_name_of_aws_s_is_acted_on_or_set_by_the_endpoint() -> None:
    theirs = [setting.variable for setting in SETTINGS if not setting.variable.startswith("TORPOR_")]
    assert [name for name in theirs if BY_NAME[name].effect not in (Effect.ACTED_ON, Effect.SET)] == []


def test_names_are_unique_and_every_refused_variable_has_advice() -> None:
    assert len(BY_NAME) == len(VARIABLES)
    assert [row.name for row in VARIABLES if row.effect is Effect.REFUSED and not row.instead] == []


@pytest.mark.parametrize("row", [row for row in VARIABLES if row.effect is Effect.REFUSED], ids=lambda row: row.name)
def test_a_variable_that_would_change_answers_is_refused_unless_it_names_the_default(row: object) -> None:
    assert hasattr(row, "name")
    told = fault({"MINE": "1", row.name: "something-else"})
    assert told is not None
    assert told.startswith(f"{row.name}=something-else sets ")
    assert [value for value in ("", *BY_NAME[row.name].like) if fault({row.name: value})] == []


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("SAGEMAKER_NUM_MODEL_WORKERS", "4", "=4 has no effect: .* Use instead: SAGEMAKER_MODEL_SERVER_WORKERS"),
        ("MMS_DEFAULT_RESPONSE_TIMEOUT", "900", "Use instead: TORPOR_INVOCATION_TIMEOUT_SECONDS"),
        ("SAGEMAKER_PROGRAMM", "serve.py", "no image .* Did you mean SAGEMAKER_PROGRAM"),
        ("TS_MAX_RESPONSE_SIZE", "1", "no image that Torpor replaces reads it"),
        ("SM_HP_DEPTH", "3", "User scripts see it"),
    ],
)
def test_a_variable_without_effect_is_named_once(name: str, value: str, says: str) -> None:
    (note,) = notes({name: value, "HOME": "/", "MY_THRESHOLD": "0.7"})
    assert re.search(says, note)
    assert note.startswith(name)
    assert fault({name: value}) is None


def test_variables_with_an_effect_or_with_the_default_value_are_not_logged() -> None:
    given = {row.name: "x" for row in VARIABLES if row.effect in (Effect.ACTED_ON, Effect.SET)}
    assert notes({**given, "SAGEMAKER_CONTAINER_LOG_LEVEL": "20", "MMS_DEFAULT_WORKERS_PER_MODEL": ""}) == []


def test_a_setting_of_torpor_that_is_none_is_refused_with_the_one_that_may_be_meant() -> None:
    assert unknown({"TORPOR_POLICE": "LRU"}) == "TORPOR_POLICE is not a setting of Torpor: did you mean TORPOR_POLICY?"
    assert unknown({"TORPOR_POLICY": "LRU", "OTHER": "x"}) is None


def test_an_instance_logs_the_variables_without_effect(caplog: pytest.LogCaptureFixture) -> None:
    InstanceProcess(Settings.read({}), environment={"SAGEMAKER_NUM_MODEL_WORKERS": "4"})
    assert "SAGEMAKER_NUM_MODEL_WORKERS=4 has no effect" in caplog.text
