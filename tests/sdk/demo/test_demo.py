"""The demo: its hand-written ONNX, its arithmetic, and the whole of it."""

import io
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from tests.helpers.thorough_values import thorough
from torpor.calling.answer import steps_ms
from torpor.cli import app
from torpor.demo import houses, printed_tables
from torpor.demo.houses import CITIES, FEATURES, generate
from torpor.demo.linear_onnx import linear_onnx
from torpor.demo.timed_calls import DemoCall, quantile

weights = st.floats(-1000, 1000, width=32)


@given(st.lists(weights, min_size=1, max_size=300), weights)
def test_the_onnx_written_by_hand_is_one_that_onnx_accepts(coefficients: list[float], intercept: float) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load_from_string(linear_onnx(coefficients, intercept))
    onnx.checker.check_model(model, full_check=True)
    stored = onnx.numpy_helper.to_array(model.graph.initializer[0])
    assert stored.ravel().tolist() == coefficients


def test_the_same_houses_are_generated_every_time() -> None:
    first, second = generate(CITIES[0]), generate(CITIES[0])
    assert first[0].shape == (3000, len(FEATURES))
    assert np.array_equal(first[0], second[0])
    assert not np.array_equal(first[1], generate(CITIES[1])[1])


def test_a_narrow_terminal_shows_every_model_and_price() -> None:
    steps_ms = {"download": 4.8, "unpack": 51.9, "load": 172.9, "predict": 31.2}
    call = DemoCall("Philadelphia_PA.tar.gz", 939_123.0, 1.2345, steps_ms)
    printer = Console(width=80, record=True, file=io.StringIO())
    printer.print(printed_tables.calls([call], [call]))
    shown = "Philadelphia_PA  $939,123  1,234.5       4.8    51.9  172.9     31.2  1,234.5"
    assert shown in printer.export_text()


def test_times_are_read_and_summed_up() -> None:
    assert steps_ms("download;dur=1.142, load;dur=11.9") == {"download": 1.142, "load": 11.9}
    calls = [DemoCall("a", 0.0, took_s, {}) for took_s in (0.001, 0.002, 0.003, 0.004, 0.005)]
    assert quantile(calls, 50) == pytest.approx(0.003)


@pytest.mark.slow
@pytest.mark.parametrize("count", [300, *thorough(3000)])
def test_the_demo_plays_to_its_end_and_leaves_nothing(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(houses, "generate", partial(generate, count=count))
    done = CliRunner().invoke(app, ["demo"], env={"TMPDIR": str(temporary)})
    assert (done.exit_code, done.stderr) == (0, "")
    assert list(temporary.glob("torpor*")) == []
    for fact in ("in service in", "has to leave memory", "ModelCacheHit", "not measured here", "Austin_TX"):
        assert fact in done.stdout
