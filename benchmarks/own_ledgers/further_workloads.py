"""The workloads that need more than one multi-model endpoint: pipelines, queues, and several routers."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Thread
from urllib.request import urlopen

import numpy as np

from benchmarks.own_ledgers.artifacts import SCALER, packed, pickles
from benchmarks.own_ledgers.ledger_facts import LedgerWindow
from benchmarks.own_ledgers.stage import MINUTE_S, NAME, ROW, SLO_S, WorkloadPlayed, WorkloadStage, names, zipf_calls
from benchmarks.ports import free_port
from torpor.calling.connection import EndpointConnection
from torpor.calling.target_model import with_target_model
from torpor.confirming.live_endpoint import ConfirmingEndpoint
from torpor.confirming.live_sending import WRITTEN_S
from torpor.hosting.async_call import AsyncCall
from torpor.hosting.endpoint_deployment import EndpointPlan, until_in_service
from torpor.hosting.endpoint_options import BUCKET
from torpor.hosting.endpoint_process import ChildEndpoint, Start
from torpor.pages import clock
from torpor.replay.joined_replays import ReplayedStretch, joined
from torpor.replay.paced_sending import replay
from torpor.replay.replay_result import Replayed
from torpor.replay.target import Target
from torpor.workloads import Chunk, Recorded

IDLE_S = 120.0
NAP_S = 400.0
ROUTERS = 2
READY_WITHIN_S = 60.0


def pipeline(stage: WorkloadStage) -> WorkloadPlayed:
    """A container that prepares each row, before one with many models."""
    pickles(stage.folder / "models", list(names(30)), (2.0, 4.0, 8.0))
    prefix = stage.models(stage.folder / "models")
    scaler = stage.process.bucket_folder(BUCKET) / "scaler.tar.gz"
    scaler.write_bytes(packed({"code/inference.py": SCALER.encode()}))
    sagemaker = stage.process.client("sagemaker")
    accept = {"SAGEMAKER_DEFAULT_INVOCATIONS_ACCEPT": "text/csv"}
    sagemaker.create_model(
        ModelName=NAME,
        Containers=[
            {
                "ContainerHostname": "scale",
                "Image": "torpor",
                "ModelDataUrl": f"s3://{BUCKET}/scaler.tar.gz",
                "Environment": accept,
            },
            {
                "ContainerHostname": "predict",
                "Image": "torpor",
                "Mode": "MultiModel",
                "ModelDataUrl": prefix,
            },
        ],
    )
    named = {"VariantName": "AllTraffic", "ModelName": NAME, "InstanceType": "ml.m5.large"}
    sagemaker.create_endpoint_config(EndpointConfigName=NAME, ProductionVariants=[{**named, "InitialInstanceCount": 1}])
    sagemaker.create_endpoint(EndpointName=NAME, EndpointConfigName=NAME)
    until_in_service(sagemaker, NAME, NAME)
    connection = stage.process.connection
    endpoint = ConfirmingEndpoint(connection, Target(connection, NAME), True)
    return stage.played(endpoint, zipf_calls(30, 400, 10.0, seed=6), SLO_S, 60.0)


def queued(stage: WorkloadStage) -> WorkloadPlayed:
    """An asynchronous endpoint that sleeps between bursts of requests."""
    pickles(stage.folder / "models", list(names(6)), (2.0,))
    out = {"OutputConfig": {"S3OutputPath": f"s3://{BUCKET}/out"}}
    settings = {"TORPOR_IDLE_SECONDS": f"{IDLE_S:g}"}
    prefix = stage.models(stage.folder / "models")
    endpoint = stage.deployed(EndpointPlan(NAME, prefix, settings, instances_min=0, instances_max=1, asynchronous=out))
    stage.asleep(endpoint, IDLE_S)
    runtime, s3 = with_target_model(stage.process.client("sagemaker-runtime")), stage.process.client("s3")
    rng = np.random.default_rng(7)
    window = LedgerWindow(endpoint)
    for _ in range(5):
        calls = []
        for number in rng.integers(0, 6, 12).tolist():
            answer = runtime.invoke_endpoint_async(
                EndpointName=NAME, TargetModel=names(6)[number], Body=ROW[1], ContentType=ROW[0]
            )
            calls.append(AsyncCall(stage.process.connection, s3, answer))
        for call in calls:
            call.result(300.0)
        clock.advance(endpoint.connection, NAP_S)
    figures, strain, window_s = window.closed(stage.process.data_dir / "ledger.sqlite")
    scaled = {"instances_min": 0, "instances_max": 1, "idle_s": IDLE_S, "asynchronous": True}
    return WorkloadPlayed(figures, strain, stage.ledger(endpoint), window_s, scaled)


def routed(stage: WorkloadStage) -> WorkloadPlayed:
    """Two routers beside the control, each with every other request."""
    pickles(stage.folder / "models", list(names(30)), (2.0, 4.0, 8.0))
    with ChildEndpoint(Start()) as process, routers(process) as urls:
        own = WorkloadStage(process, stage.folder)
        own.deployed(EndpointPlan(NAME, own.models(stage.folder / "models"), {"TORPOR_MEMORY_MIB": "110"}))
        control = ConfirmingEndpoint(process.connection, Target(process.connection, NAME), False)
        window = LedgerWindow(control)
        replayed = _by_turns(zipf_calls(30, 600, 10.0, seed=8), urls)
        time.sleep(MINUTE_S - time.time() % MINUTE_S + WRITTEN_S)  # a router's requests are told of later
        figures, strain, window_s = window.closed(process.data_dir / "ledger.sqlite")
        return WorkloadPlayed(
            replace(figures, hits=int((replayed.hits == 1).sum()), requests=len(replayed), failed=replayed.failed),
            strain,
            own.kept(NAME),
            window_s,
        )


@contextmanager
def routers(process: ChildEndpoint) -> Iterator[list[str]]:
    """Router processes of this endpoint, by their URLs."""
    started, urls = [], []
    try:
        for _ in range(ROUTERS):
            port = free_port()
            command = [sys.executable, "-m", "torpor_endpoint.router", "--control", process.url, "--port", str(port)]
            environment = {**os.environ, **process.environment}
            started.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL))
            urls.append(f"http://127.0.0.1:{port}")
        for url in urls:
            _until_answers(url)
        yield urls
    finally:
        for one in started:
            one.send_signal(signal.SIGTERM)
        for one in started:
            one.wait(READY_WITHIN_S)


def _until_answers(url: str) -> None:
    deadline_s = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline_s:
        with suppress(OSError), urlopen(f"{url}/_torpor/health", timeout=5):
            return
        time.sleep(0.1)
    raise TimeoutError(f"the router at {url} does not answer")


def _by_turns(trace: Recorded, urls: list[str]) -> Replayed:
    """The replay of a trace whose requests go to these routers in turn."""
    [chunk] = trace.parts
    found: list[ReplayedStretch] = []

    def send(number: int) -> None:
        own = Chunk(chunk.times_s[number :: len(urls)], chunk.models[number :: len(urls)])
        target = Target(EndpointConnection(urls[number]), NAME)
        begins_s = float(own.times_s[0])
        done = replay(Recorded(trace.names, [own]), target, lambda model, size: ROW)
        found.append(ReplayedStretch(begins_s, begins_s, done))

    threads = [Thread(target=send, args=(number,)) for number in range(len(urls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return joined(found)
