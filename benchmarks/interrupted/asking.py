"""What is asked: models that anybody can check, inputs of all sizes, and callers that do not give up."""

import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

import torpor
from benchmarks.interrupted.stand import Stand
from torpor.calling.target_model import with_target_model

ENDPOINT = "later"
BUCKET = "work"
INPUTS = 40
SMALLEST, LARGEST = 1024, 50 * 1024 * 1024
INLINE_MAX_BYTES = 128_000
ECHO_MAX_BYTES = 1024 * 1024
CALLERS = 8
PATIENCE_S = 120.0
REFUSED = "the model refuses"
SCRIPT = f'''
import hashlib

def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    kind, name = {{kind!r}}, {{name!r}}
    if kind == "refuse":
        raise ValueError("{REFUSED}")
    return (body if kind == "echo" else (hashlib.sha256(body).hexdigest() + name).encode()), "application/octet-stream"
'''


@dataclass(frozen=True)
class Ask:
    """One request: a model, and an input that is an object or travels with it."""

    id: str
    model: str
    kind: str  # digest, echo or refuse
    body: bytes
    key: str | None

    @property
    def answer(self) -> bytes | None:
        """The right result; None if the model refuses."""
        if self.kind == "refuse":
            return None
        return self.body if self.kind == "echo" else (hashlib.sha256(self.body).hexdigest() + self.model).encode()


@dataclass
class Asked:
    """What the callers got."""

    accepted: dict[str, str] = field(default_factory=dict)
    """The address of the result by the request's id."""
    failures: dict[str, str] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)
    gave_up: list[str] = field(default_factory=list)


def prepared(stand: Stand, models: int, requests: int, largest: int, random: Random, folder: Path) -> list[Ask]:
    """The requests, whose models and inputs are in S3 when this returns."""
    bucket = stand.bucket(BUCKET)
    (bucket / "models").mkdir()
    (bucket / "in").mkdir()
    kinds = {}
    for number in range(models):
        name = f"m{number}.tar.gz"
        kinds[name] = "refuse" if number % 20 == 19 else "echo" if number % 5 == 4 else "digest"
        code = folder / name.partition(".")[0]
        code.mkdir(parents=True)
        (code / "inference.py").write_text(SCRIPT.format(kind=kinds[name], name=name))
        torpor.bundle(None, bucket / "models" / name, code=code)
    bodies = {}
    for number in range(INPUTS):
        size = int(SMALLEST * (largest / SMALLEST) ** (number / (INPUTS - 1)))
        bodies[f"in/{number}"] = random.randbytes(size)
        (bucket / "in" / str(number)).write_bytes(bodies[f"in/{number}"])
    return [_ask(number, kinds, bodies, random) for number in range(requests)]


def _ask(number: int, kinds: dict[str, str], bodies: dict[str, bytes], random: Random) -> Ask:
    model = random.choice(list(kinds))
    most = ECHO_MAX_BYTES if kinds[model] == "echo" else LARGEST
    key = random.choice([key for key, body in bodies.items() if len(body) <= most])
    body = bodies[key]
    inline = len(body) <= INLINE_MAX_BYTES and random.random() < 0.5
    return Ask(f"r{number}", model, kinds[model], body, None if inline else key)


def deploy(stand: Stand, topic: str) -> None:
    """An endpoint of many models that sleeps until it is asked."""
    sagemaker = stand.client("sagemaker")
    container = {
        "Image": "torpor",
        "Mode": "MultiModel",
        "ModelDataUrl": f"s3://{BUCKET}/models/",
        "Environment": {"TORPOR_IDLE_SECONDS": "2"},
    }
    sagemaker.create_model(ModelName=ENDPOINT, PrimaryContainer=container)
    variant = {
        "VariantName": "All",
        "ModelName": ENDPOINT,
        "InstanceType": "ml.m5.large",
        "InitialInstanceCount": 1,
        "ManagedInstanceScaling": {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 2},
    }
    output = {
        "S3OutputPath": f"s3://{BUCKET}/out",
        "S3FailurePath": f"s3://{BUCKET}/failed",
        "NotificationConfig": {"SuccessTopic": topic, "ErrorTopic": topic},
    }
    sagemaker.create_endpoint_config(
        EndpointConfigName=ENDPOINT,
        ProductionVariants=[variant],
        AsyncInferenceConfig={
            "OutputConfig": output,
            "ClientConfig": {"MaxConcurrentInvocationsPerInstance": 4},
        },
    )
    sagemaker.create_endpoint(EndpointName=ENDPOINT, EndpointConfigName=ENDPOINT)
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=ENDPOINT, WaiterConfig={"Delay": 1})


def ask_all(stand: Stand, asks: Sequence[Ask], lasts_s: float) -> Asked:
    """Send the requests in about this time, by several callers. Each tries again until it is accepted."""
    asked, left, began_s = Asked(), iter(enumerate(asks)), time.monotonic()
    lock = threading.Lock()

    def caller() -> None:
        client = with_target_model(stand.client("sagemaker-runtime"))
        while (taken := _next(left, lock)) is not None:
            place, ask = taken
            time.sleep(max(0.0, began_s + lasts_s * place / len(asks) - time.monotonic()))
            _accepted(client, ask, asked)

    callers = [threading.Thread(target=caller) for _ in range(CALLERS)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    return asked


def _next(left: Iterator[tuple[int, Ask]], lock: threading.Lock) -> tuple[int, Ask] | None:
    with lock:
        return next(left, None)


def _accepted(client: Any, ask: Ask, asked: Asked) -> None:
    members = {"EndpointName": ENDPOINT, "TargetModel": ask.model, "InferenceId": ask.id}
    members |= {"ContentType": "application/octet-stream"}
    given = {"Body": ask.body} if ask.key is None else {"InputLocation": f"s3://{BUCKET}/{ask.key}"}
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        asked.tries[ask.id] = asked.tries.get(ask.id, 0) + 1
        try:
            answer = client.invoke_endpoint_async(**members, **given)
        except (BotoCoreError, ClientError) as error:
            if time.monotonic() > deadline_s:
                asked.gave_up.append(f"{ask.id}: {error}")
                return
            time.sleep(0.3)
            continue
        asked.accepted[ask.id] = answer["OutputLocation"]
        asked.failures[ask.id] = answer["FailureLocation"]
        return
