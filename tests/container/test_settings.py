"""Settings are read once, and a bad one is named."""

from dataclasses import dataclass, fields

import pytest

from torpor_container.settings import DEFAULTS, MIB, SETTINGS, BadSetting, Settings, read_settings


def test_nothing_set_means_the_defaults_of_the_table() -> None:
    settings = Settings.read({})
    assert (settings.port, settings.multi_model, settings.memory_bytes) == (8080, False, 1024 * MIB)
    assert (settings.ready_wait_s, settings.load_timeout_s, settings.invocation_timeout_s) == (60, 360, 60)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("TORPOR_MEMORY_MIB", "plenty"),
        ("TORPOR_MEMORY_MIB", "0"),
        ("TORPOR_DISK_MIB", "nan"),
        ("TORPOR_DISK_MIB", "0.0000001"),
        ("TORPOR_VCPU", "-1"),
        ("TORPOR_INVOCATION_TIMEOUT_SECONDS", "inf"),
        ("TORPOR_POLICY", "MRU"),
        ("SAGEMAKER_MULTI_MODEL", "yes"),
        ("SAGEMAKER_INFERENCE_OUTPUT", "predicted_label,foo"),
        ("SAGEMAKER_INFERENCE_ENSEMBLE", "maybe"),
        ("MAX_CONTENT_LENGTH", "6MB"),
        ("TORPOR_IMAGE", "nginx"),
    ],
)
def test_a_setting_that_cannot_be_read_is_named(variable: str, text: str) -> None:
    with pytest.raises(BadSetting, match=f"^{variable}='{text}': "):
        Settings.read({variable: text})


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("TORPOR_VCPU", "two", "must be a whole number more than 0"),
        ("TORPOR_VCPU", "1.5", "must be a whole number more than 0"),
        ("TORPOR_MEMORY_MIB", "1 GiB", "must be a number more than 0"),
        ("TORPOR_MEMORY_MIB", "0.0000001", "must be one byte at least"),
        ("SAGEMAKER_BIND_TO_PORT", "99999", "must be a port, from 0 to 65535"),
        ("SAGEMAKER_BIND_TO_PORT", "http", "must be a port, from 0 to 65535"),
    ],
)
def test_the_error_of_a_bad_number_says_what_it_must_be(variable: str, text: str, said: str) -> None:
    with pytest.raises(BadSetting, match=f"^{variable}='{text}': {said}"):
        Settings.read({variable: text})


def test_no_variable_fills_two_fields() -> None:
    assert len({row.variable for row in SETTINGS}) == len({row.field for row in SETTINGS}) == len(SETTINGS)


def test_the_record_has_a_field_for_each_row_of_the_table() -> None:
    assert [field.name for field in fields(Settings)] == [row.field for row in SETTINGS]


@dataclass(frozen=True)
class Sleep:
    """A record of a few settings, filled from the table of all."""

    keep_alive: str
    idle_s: float


def test_a_record_of_a_few_settings_is_filled_from_the_same_table() -> None:
    assert read_settings(Sleep, {}) == Sleep(DEFAULTS.keep_alive, DEFAULTS.idle_s)
    assert read_settings(Sleep, {"TORPOR_IDLE_SECONDS": "9", "TORPOR_VCPU": "many"}) == Sleep("fixed", 9.0)
    with pytest.raises(BadSetting, match=r"^TORPOR_KEEP_ALIVE='ever': "):
        read_settings(Sleep, {"TORPOR_KEEP_ALIVE": "ever"})
