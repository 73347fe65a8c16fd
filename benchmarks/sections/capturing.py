"""What data capture of every request adds to a warm request: two endpoint processes, one of which captures, in turn.

A turn is longer than the time after which a file of captured data is written: the write counts in the turn's figures.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.live import BUCKET, NAME, Live, Serve
from benchmarks.live import live as own_process
from benchmarks.measure import Figures, Target, Turn, agree, figures, spread, warm
from benchmarks.own_answers import make_models
from benchmarks.sizes import Sizes

WITH, WITHOUT = "with data capture", "without"
CAPTURED = "captured"
TURNS = 15
"""So many of the other sections' turns make one turn of this section."""


class NotCaptured(Exception):
    """The endpoint that should capture has written nothing: there is nothing to compare."""


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    artifacts = folder / "artifacts"
    expected = make_models(artifacts, 1)
    with ExitStack() as stack:
        targets = []
        for name in (WITH, WITHOUT):
            running = stack.enter_context(own_process())
            running.link(artifacts)
            running.deploy()
            if name == WITH:
                capturing = running
                _capture(running)
            targets.append(running.through(name, expected))
            agree(targets[-1:])
        rows = [row for connections in sizes.connections for row in _measured(targets, connections, sizes)]
        _check(capturing)
        return rows


def _capture(running: Live) -> None:
    """Update the endpoint to a configuration that captures both sides of each request."""
    sagemaker = running.process.client("sagemaker")
    config = sagemaker.describe_endpoint(EndpointName=NAME)["EndpointConfigName"]
    variants = sagemaker.describe_endpoint_config(EndpointConfigName=config)["ProductionVariants"]
    sagemaker.create_endpoint_config(
        EndpointConfigName=CAPTURED,
        ProductionVariants=variants,
        DataCaptureConfig={
            "InitialSamplingPercentage": 100,
            "DestinationS3Uri": f"s3://{BUCKET}/{CAPTURED}",
            "CaptureOptions": [{"CaptureMode": "InputAndOutput"}],
            "CaptureContentTypeHeader": {"CsvContentTypes": ["text/csv"], "JsonContentTypes": ["application/json"]},
        },
    )
    sagemaker.update_endpoint(EndpointName=NAME, EndpointConfigName=CAPTURED)
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=NAME, WaiterConfig={"Delay": 1})


def _check(running: Live) -> None:
    """Raises NotCaptured."""
    running.withdraw()  # the last file is written before the endpoint is gone
    if not list((running.process.bucket_folder(BUCKET) / CAPTURED).rglob("*.jsonl")):
        raise NotCaptured


def _measured(targets: Sequence[Target], connections: int, sizes: Sizes) -> list[Figures]:
    turns = warm(targets, (), connections, sizes.turn_s * TURNS, max(1, sizes.rounds // 3))
    return [_row(name, connections, seen, turns[WITHOUT]) for name, seen in turns.items()]


def _row(name: str, connections: int, turns: Sequence[Turn], without: Sequence[Turn]) -> Figures:
    added_us = [one.cpu_us - other.cpu_us for one, other in zip(turns, without, strict=True)]
    ratios = [one.cpu_us / other.cpu_us for one, other in zip(turns, without, strict=True)]
    compared = {**spread("added_us", added_us), **spread("cpu_of_without", ratios)}
    return {"what": name, "connections": connections, **figures(turns), **compared}
