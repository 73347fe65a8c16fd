"""How a job sends its payloads: the request comes before the container's advice, and that before AWS's defaults."""

from typing import Any

import pytest

from torpor_endpoint.core.transform.payload_settings import BadAdvice, TransformSettings, settings
from torpor_endpoint.core.transform.splitting import BatchStrategy, SplitType

MULTI, SINGLE = BatchStrategy.MULTI_RECORD, BatchStrategy.SINGLE_RECORD
PLAIN: dict[str, Any] = {"TransformInput": {}, "TransformOutput": {}}
FULL = {
    "TransformInput": {"SplitType": "Line"},
    "TransformOutput": {"AssembleWith": "Line"},
    "ModelClientConfig": {"InvocationsMaxRetries": 1, "InvocationsTimeoutInSeconds": 30},
    "MaxConcurrentTransforms": 4,
    "MaxPayloadInMB": 5,
    "BatchStrategy": "SingleRecord",
}
ADVICE = {"MaxConcurrentTransforms": 8, "MaxPayloadInMB": 2, "BatchStrategy": "SINGLE_RECORD"}


def test_without_a_word_awss_defaults_hold() -> None:
    assert settings(PLAIN, {}) == TransformSettings(SplitType.NONE, MULTI, 1, 6, False, 3, 600.0)


def test_the_container_advises_what_the_request_leaves_open() -> None:
    assert settings(PLAIN, ADVICE) == TransformSettings(SplitType.NONE, SINGLE, 8, 2, False, 3, 600.0)


def test_the_request_comes_before_the_advice() -> None:
    wanted = TransformSettings(SplitType.LINE, SINGLE, 4, 5, True, 1, 30.0)
    assert settings(FULL, {**ADVICE, "BatchStrategy": "MULTI_RECORD"}) == wanted


@pytest.mark.parametrize("value", ["None", "Line", "RecordIO", "TFRecord"])
def test_each_split_type_of_aws_is_known(value: str) -> None:
    assert settings({**PLAIN, "TransformInput": {"SplitType": value}}, {}).split == value


@pytest.mark.parametrize(("value", "known"), [("MultiRecord", MULTI), ("SingleRecord", SINGLE)])
def test_each_strategy_of_aws_is_known(value: str, known: BatchStrategy) -> None:
    assert settings({**PLAIN, "BatchStrategy": value}, {}).strategy is known


def test_payloads_at_the_same_time_have_a_hundred_mib_together_at_most() -> None:
    assert settings({**PLAIN, "MaxConcurrentTransforms": 20, "MaxPayloadInMB": 5}, {}).at_once == 20
    with pytest.raises(BadAdvice, match="more than 100"):
        settings({**PLAIN, "MaxConcurrentTransforms": 101, "MaxPayloadInMB": 1}, {})


@pytest.mark.parametrize(
    ("advice", "named"),
    [
        ({"MaxPayloadInMB": -1}, "MaxPayloadInMB -1"),
        ({"MaxConcurrentTransforms": "4"}, "MaxConcurrentTransforms '4'"),
        ({"BatchStrategy": "MultiRecord"}, "BatchStrategy 'MultiRecord': there are SINGLE_RECORD and MULTI_RECORD"),
    ],
)
def test_advice_that_is_none_is_named(advice: dict[str, Any], named: str) -> None:
    with pytest.raises(BadAdvice, match=named):
        settings(PLAIN, advice)


def test_an_advised_0_leaves_the_default() -> None:
    assert settings(PLAIN, {"MaxPayloadInMB": 0, "MaxConcurrentTransforms": 0}) == settings(PLAIN, {})


def test_a_payload_has_so_many_mib_and_0_is_no_limit() -> None:
    assert settings({**PLAIN, "MaxPayloadInMB": 2}, {}).payload_bytes == 2 * 1024 * 1024
    assert settings({**PLAIN, "MaxPayloadInMB": 0}, {}).payload_bytes > 1 << 60


@pytest.mark.parametrize(
    ("split", "strategy", "mib", "streamed"),
    [
        ("None", "MultiRecord", 0, True),
        ("None", "SingleRecord", 0, True),
        ("Line", "MultiRecord", 0, True),
        ("Line", "SingleRecord", 0, False),
        ("None", "MultiRecord", 6, False),
        ("Line", "SingleRecord", 6, False),
    ],
)
def test_an_object_without_a_limit_is_one_request_unless_each_record_is(
    split: str, strategy: str, mib: int, streamed: bool
) -> None:
    request = {**PLAIN, "TransformInput": {"SplitType": split}, "BatchStrategy": strategy, "MaxPayloadInMB": mib}
    assert settings(request, {}).streamed is streamed


def test_the_data_log_has_the_settings_as_aws_writes_them() -> None:
    assert str(settings(PLAIN, {})) == "MaxConcurrentTransforms=1, MaxPayloadInMB=6, BatchStrategy=MULTI_RECORD"
    assert str(settings(FULL, {})) == "MaxConcurrentTransforms=4, MaxPayloadInMB=5, BatchStrategy=SINGLE_RECORD"
