"""What an endpoint imports for telemetry, how it names itself, and how seldom the SDK may write into the log."""

import logging
import subprocess
import sys

import pytest

from torpor_endpoint.telemetry.telemetry_parts import NowAndThen, own_resource


def test_an_endpoint_without_telemetry_imports_nothing_of_opentelemetry() -> None:
    code = (
        "import sys, torpor_endpoint.app, torpor_endpoint.up; print([m for m in sys.modules if 'opentelemetry' in m])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"


def test_a_service_without_a_name_is_called_torpor(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"):
        monkeypatch.delenv(name, raising=False)
    attributes = own_resource().attributes
    assert attributes["service.name"] == "torpor"
    assert attributes["service.instance.id"]


def test_the_variables_name_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "houses")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=one,deployment.environment.name=test")
    attributes = own_resource().attributes
    assert [attributes[f"service.{name}"] for name in ("name", "instance.id")] == ["houses", "one"]
    assert attributes["deployment.environment.name"] == "test"


def test_of_many_lines_one_a_minute_is_printed() -> None:
    times_s = iter((0.0, 1.0, 59.0, 60.0, 61.0, 120.0))
    printed = NowAndThen(60.0, lambda: next(times_s))
    record = logging.makeLogRecord({"msg": "the collector does not answer"})
    assert [printed.filter(record) for _ in range(6)] == [True, False, False, True, False, True]
