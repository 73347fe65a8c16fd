"""`python -m benchmarks.batch_kills [--objects 500] [--seed N]`: a transform job whose processes are killed at random.

Instances, the endpoint's worker and the whole endpoint get SIGKILL until the job has ended. It ends with 1 unless each
object has its one result, with all records in their order, and nothing is left over.
"""

import io
import os
import random
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from benchmarks.command import command, keep
from benchmarks.sleeping import children
from torpor_container.artifacts.object_keys import RESERVED

BUCKET = "kills"
JOB = "killed"
RECORDS = 20
SHARES = {"instance": 0.6, "worker": 0.25, "endpoint": 0.15}
PAUSE_S = (0.3, 1.5)
SHORT_PAUSE_S = (0.1, 0.2)
ENDED = frozenset({"Completed", "Failed", "Stopped"})
ENDED_WITHIN_S = 900.0
SCRIPT = b"""
import time

def model_fn(folder):
    return None

def transform_fn(model, body, content_type, accept):
    number, record = (body if isinstance(body, str) else body.decode()).strip().split(",")
    time.sleep(0.002)
    return f"{1000 * int(number) + int(record)}\\n", "text/csv"
"""


@dataclass
class Survived:
    """What was killed, how the job ended, and what was wrong then."""

    seed: int
    objects: int
    took_s: float = 0.0
    status: str = ""
    kills: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SHARES, 0))
    faults: list[str] = field(default_factory=list)


class Battered:
    """One endpoint on one data folder, through all its lives. Each process of it carries a mark in its environment."""

    def __init__(self, folder: Path, data_dir: Path | None = None, *options: str) -> None:
        """Its log is in `folder`, and its data too unless `data_dir` says otherwise."""
        self.data_dir = data_dir or folder / "endpoint"
        self.data_dir.mkdir(exist_ok=True)
        self.log = folder / "endpoint.log"
        self._options = options
        self._mark = uuid.uuid4().hex
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with socket.create_server(("127.0.0.1", self._port), backlog=1024) as listener, self.log.open("ab") as log:
            self._port = listener.getsockname()[1]
            asked = [sys.executable, "-m", "torpor_endpoint", "--data-dir", str(self.data_dir)]
            asked += ["--port", str(self._port), "--descriptor", str(listener.fileno()), *self._options]
            environment = {**os.environ, "TORPOR_BATCH_KILLS": self._mark}
            self._process = subprocess.Popen(
                asked, env=environment, stdout=log, stderr=log, pass_fds=[listener.fileno()]
            )

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(60.0)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """The arbiter's."""
        assert self._process is not None
        return self._process.pid

    def client(self, service: str, attempts: int = 10) -> Any:
        """It tries for a while: the endpoint may be dead now."""
        patient = Config(retries={"total_max_attempts": attempts, "mode": "standard"}, read_timeout=30)
        session = boto3.Session("kills", "kills", region_name="us-east-1")
        return session.client(service, endpoint_url=self.url, config=patient)

    def end(self) -> None:
        """Kill the whole endpoint."""
        assert self._process is not None
        workers = children(self._process.pid)
        _kill([self._process.pid, *workers])
        self._process.wait()
        _until_gone(workers)

    def kill(self, what: str, dice: Random) -> bool:
        """Whether there was something to kill."""
        assert self._process is not None
        workers = children(self._process.pid)
        if what == "endpoint":
            self.end()
            self.start()
            return True
        zygotes = [pid for worker in workers for pid in children(worker)]
        victims = workers if what == "worker" else [pid for zygote in zygotes for pid in children(zygote)]
        _kill(victims if what == "worker" else dice.sample(victims, min(1, len(victims))))
        return bool(victims)

    def marked(self) -> list[int]:
        """Every process with the mark, whatever its parent is now."""
        return [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if self._mark in _environment(folder)]

    def left(self) -> list[str]:
        """Processes, and files of the job, that should be gone once the endpoint has stopped."""
        files = [*self.data_dir.glob("transform/*"), *self.data_dir.glob("instances/*"), *self.data_dir.glob("run/*")]
        staged = (self.data_dir / "s3" / RESERVED / "tmp").glob("*")
        return [*(f"process {pid}" for pid in self.marked()), *map(str, [*files, *staged])]


def survive(folder: Path, seed: int, objects: int, plan: Iterable[str] | None = None) -> Survived:
    """Run one job of so many objects, and kill until it has ended: at random, or what `plan` says and then nothing."""
    dice, found, began_s = Random(seed), Survived(seed, objects), time.monotonic()
    endpoint = Battered(folder)
    endpoint.start()
    try:
        _fill(endpoint.data_dir / "s3" / BUCKET, objects)
        sagemaker = endpoint.client("sagemaker")
        _begin(sagemaker)
        sagemaker.delete_model(ModelName=JOB)
        victims = _at_random(dice) if plan is None else iter(plan)
        victim = next(victims, None)
        while not _ended(sagemaker, found) and time.monotonic() - began_s < ENDED_WITHIN_S:
            time.sleep(dice.uniform(*(PAUSE_S if plan is None else SHORT_PAUSE_S)))
            if victim is not None and endpoint.kill(victim, dice):
                found.kills[victim] += 1
                victim = next(victims, None)
        found.took_s = time.monotonic() - began_s
        found.faults = [*([] if found.status == "Completed" else [f"the job is {found.status}"])]
        found.faults += wrong(endpoint.data_dir / "s3" / BUCKET / "out", objects)
        endpoint.stop()
        found.faults += [f"left over: {one}" for one in endpoint.left()]
    finally:
        _kill(endpoint.marked())
    return found


def wrong(out: Path, objects: int) -> list[str]:
    """The faults of the results: missing ones, further ones, and those whose records are not as they should."""
    names = {path.name for path in out.iterdir()} if out.is_dir() else set()
    expected = {f"{number}.csv.out" for number in range(objects)}
    faults = [f"{name} is missing" for name in expected - names] + [f"{name} is too many" for name in names - expected]
    for number in range(objects):
        if (path := out / f"{number}.csv.out").is_file():
            lines = "".join(f"{number},{record},{1000 * number + record}\n" for record in range(RECORDS))
            faults += [] if path.read_text() == lines else [f"{path.name} has other records"]
    return faults


def _at_random(dice: Random) -> Iterator[str]:
    while True:
        yield dice.choices(list(SHARES), list(SHARES.values()))[0]


def _fill(bucket: Path, objects: int) -> None:
    (bucket / "in").mkdir(parents=True)
    (bucket / "model.tar.gz").write_bytes(model_archive(SCRIPT))
    for number in range(objects):
        (bucket / f"in/{number}.csv").write_text("".join(f"{number},{record}\n" for record in range(RECORDS)))


def model_archive(source: bytes) -> bytes:
    """A model that is this script."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        member = tarfile.TarInfo("code/inference.py")
        member.size = len(source)
        tar.addfile(member, io.BytesIO(source))
    return archive.getvalue()


def _begin(sagemaker: Any) -> None:
    container = {"Image": "torpor", "ModelDataUrl": f"s3://{BUCKET}/model.tar.gz"}
    sagemaker.create_model(ModelName=JOB, PrimaryContainer=container)
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{BUCKET}/in/"}}
    sagemaker.create_transform_job(
        TransformJobName=JOB,
        ModelName=JOB,
        BatchStrategy="SingleRecord",
        MaxConcurrentTransforms=2,
        TransformInput={"DataSource": source, "ContentType": "text/csv", "SplitType": "Line"},
        TransformOutput={"S3OutputPath": f"s3://{BUCKET}/out", "AssembleWith": "Line", "Accept": "text/csv"},
        TransformResources={"InstanceType": "ml.m5.large", "InstanceCount": 2},
        DataProcessing={"JoinSource": "Input"},
    )


def _ended(sagemaker: Any, found: Survived) -> bool:
    with suppress(ClientError, BotoCoreError):  # the endpoint died over this question
        described = sagemaker.describe_transform_job(TransformJobName=JOB)
        found.status = f"{described['TransformJobStatus']}{described.get('FailureReason', '')}"
        return described["TransformJobStatus"] in ENDED
    return False


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _until_gone(pids: list[int]) -> None:
    """They have the endpoint's port."""
    deadline_s = time.monotonic() + 10.0
    while any(Path(f"/proc/{pid}/cmdline").is_file() for pid in pids) and time.monotonic() < deadline_s:
        time.sleep(0.01)


def _environment(folder: Path) -> str:
    with suppress(OSError):
        return (folder / "environ").read_bytes().decode("latin-1")
    return ""


def main() -> None:
    parser = command("batch_kills", __doc__)
    parser.add_argument("--objects", type=int, default=500)
    parser.add_argument("--seed", type=int, default=None, help="of what is killed when")
    asked = parser.parse_args()
    seed = asked.seed if asked.seed is not None else random.randrange(10**6)
    with tempfile.TemporaryDirectory(prefix="batch-kills-") as folder:
        found = survive(Path(folder), seed, asked.objects)
    kills = ", ".join(f"{count} {what}" for what, count in sorted(found.kills.items()))
    print(f"seed {seed}: {found.status} after {found.took_s:.0f} s and kills of {kills}")
    print("\n".join(found.faults) or f"{found.objects} results are right, and nothing is left over")
    keep(asked.results, "batch_kills", asdict(found))
    sys.exit(bool(found.faults))


if __name__ == "__main__":
    main()
