"""`python -m benchmarks.outages [WHAT …] [--requests 2000] [--objects 500] [--rounds 5]`: what outlasts an outage.

Asynchronous requests and a transform job go on while the disk is full, PostgreSQL or S3 is away, or the endpoint has no
descriptor left: each is taken away and given back, several times. It ends with 1 unless each accepted request has
exactly its right result, or the failure that it earned, and each object of the job its right result. The disk is a
tmpfs, which needs root.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from benchmarks.batch_kills import ENDED, RECORDS, SCRIPT, Battered, model_archive, wrong
from benchmarks.command import command, keep
from benchmarks.sleeping import children
from tests.account.helpers.postgresql_server import server

BUCKET, NAME = "outages", "outages"
DISK_MIB = 256
BAD_EACH = 10
"""Each tenth request is one that the model refuses."""
WITHIN_S = 600.0
OUTAGES = ("disk", "postgresql", "s3", "descriptors")


class Takeable(Protocol):
    """What is taken away from an endpoint and given back."""

    endpoint: Battered
    bucket: Path
    """The folder of the bucket, in the endpoint's own store or in the other one."""

    def take(self) -> None: ...

    def give_back(self) -> None: ...


@dataclass
class Outlasted:
    """What happened, and what was wrong then."""

    what: str
    accepted: int = 0
    asked_again: int = 0  # calls that were not accepted at first
    results: int = 0
    failures: int = 0
    objects: int = 0
    rounds: int = 0
    took_s: float = 0.0
    log_lines: int = 0
    faults: list[str] = field(default_factory=list)


class Disk:
    """The endpoint's data is on a tmpfs, which a file fills up. Another thread keeps it full."""

    def __init__(self, folder: Path) -> None:
        self.endpoint = Battered(folder, folder / "tmpfs")
        self.bucket = folder / "tmpfs" / "s3" / BUCKET
        self._filler = folder / "tmpfs" / "filler"
        self._free = Event()
        self._filling: Thread | None = None

    def take(self) -> None:
        self._free.clear()
        self._fill()
        self._filling = Thread(target=self._keep_full, daemon=True)
        self._filling.start()

    def give_back(self) -> None:
        self._free.set()
        if self._filling is not None:
            self._filling.join()
            self._filling = None
        self._filler.unlink(missing_ok=True)

    def _keep_full(self) -> None:
        while not self._free.wait(0.02):
            self._fill()

    def _fill(self) -> None:
        for size in (1 << 20, 1 << 12):
            with suppress(OSError), self._filler.open("ab", buffering=0) as file:
                while file.write(bytes(size)) == size:
                    continue


class Postgresql:
    """The endpoint's records and its queue are in a server that ends."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._server = stack.enter_context(server())
        self.endpoint = Battered(folder, folder / "data", f"--database={self._server.url}")
        self.bucket = folder / "data" / "s3" / BUCKET

    def take(self) -> None:
        self._server.stop()

    def give_back(self) -> None:
        self._server.start()


class OtherS3:
    """The objects are in another endpoint's store, which is killed."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        os.environ |= {"AWS_ACCESS_KEY_ID": "outages", "AWS_SECRET_ACCESS_KEY": "outages"}
        (folder / "other").mkdir()
        self._other = Battered(folder / "other", folder / "other" / "data")
        self._other.start()
        stack.callback(self._other.stop)
        self.endpoint = Battered(folder, folder / "data", f"--s3-endpoint={self._other.url}")
        self.bucket = folder / "other" / "data" / "s3" / BUCKET

    def take(self) -> None:
        self._other.end()

    def give_back(self) -> None:
        self._other.start()


class Descriptors:
    """The endpoint's worker may open no further file."""

    def __init__(self, folder: Path) -> None:
        self.endpoint = Battered(folder, folder / "data")
        self.bucket = folder / "data" / "s3" / BUCKET
        self._limits = resource.getrlimit(resource.RLIMIT_NOFILE)

    def take(self) -> None:
        for pid in children(self.endpoint.pid):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (8, self._limits[1]))

    def give_back(self) -> None:
        for pid in children(self.endpoint.pid):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, self._limits)


@contextmanager
def takeable(what: str, folder: Path) -> Iterator[Takeable]:
    with ExitStack() as stack:
        if what == "disk":
            (folder / "tmpfs").mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", folder / "tmpfs"], check=True)
            stack.callback(lambda: subprocess.run(["umount", "-l", folder / "tmpfs"], check=True))
            yield Disk(folder)
        elif what == "postgresql":
            yield Postgresql(folder, stack)
        elif what == "s3":
            yield OtherS3(folder, stack)
        else:
            yield Descriptors(folder)


def outlast(what: str, folder: Path, requests: int, objects: int, rounds: int, away_s: float = 2.0) -> Outlasted:
    """Ask and transform while `what` is taken away so many times, and judge what became of it."""
    found, began_s = Outlasted(what, objects=objects), time.monotonic()
    with takeable(what, folder) as taken:
        endpoint = taken.endpoint
        endpoint.start()
        try:
            taken.bucket.mkdir(parents=True)
            fill(taken.bucket, requests, objects)
            sagemaker = endpoint.client("sagemaker")
            deploy(sagemaker)
            create_job(sagemaker)
            asking = Thread(target=ask_all, args=(endpoint, requests, found), daemon=True)
            asking.start()
            while found.rounds < rounds:
                time.sleep(away_s / 2)
                taken.take()
                time.sleep(away_s)
                taken.give_back()
                found.rounds += 1
            asking.join(WITHIN_S)
            until(lambda: not unanswered(taken.bucket, requests), "each request has an object")
            until(lambda: job_status(sagemaker) in ENDED, "the job has ended")
            found.faults += judged(taken.bucket, requests, found)
            status = job_status(sagemaker)
            found.faults += [] if status == "Completed" else [f"the job is {status}"]
            found.faults += wrong(taken.bucket / "scored", objects)
        except AssertionError as never:
            found.faults.append(str(never))
        finally:
            endpoint.stop()
            text = endpoint.log.read_text()
            found.log_lines = len(text.splitlines())
            if "Traceback" in text:
                found.faults.append(f"a traceback in the log: {text[max(0, text.index('Traceback') - 300) :][:3000]}")
    found.took_s = time.monotonic() - began_s
    return found


def fill(bucket: Path, requests: int, objects: int) -> None:
    """The model, the inputs of requests with an even number, and the objects of the job."""
    (bucket / "model.tar.gz").write_bytes(model_archive(SCRIPT))
    for folder in ("asked", "in"):
        (bucket / folder).mkdir()
    for number in range(0, requests, 2):
        (bucket / "asked" / str(number)).write_text(body_of(number))
    for number in range(objects):
        (bucket / f"in/{number}.csv").write_text("".join(f"{number},{record}\n" for record in range(RECORDS)))


def body_of(number: int) -> str:
    return "no number" if number % BAD_EACH == BAD_EACH - 1 or number % BAD_EACH == 4 else f"{number},7"


def is_bad(number: int) -> bool:
    return body_of(number) == "no number"


def deploy(sagemaker: Any) -> None:
    sagemaker.create_model(
        ModelName=NAME,
        ExecutionRoleArn="arn:aws:iam::123456789012:role/r",
        PrimaryContainer={"Image": "torpor", "ModelDataUrl": f"s3://{BUCKET}/model.tar.gz"},
    )
    variant = {"VariantName": "v", "ModelName": NAME, "InstanceType": "ml.m5.large", "InitialInstanceCount": 1}
    paths = {"S3OutputPath": f"s3://{BUCKET}/out", "S3FailurePath": f"s3://{BUCKET}/failed"}
    config = {"OutputConfig": paths, "ClientConfig": {"MaxConcurrentInvocationsPerInstance": 4}}
    sagemaker.create_endpoint_config(EndpointConfigName=NAME, ProductionVariants=[variant], AsyncInferenceConfig=config)
    sagemaker.create_endpoint(EndpointName=NAME, EndpointConfigName=NAME)
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=NAME, WaiterConfig={"Delay": 1})


def create_job(sagemaker: Any) -> None:
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{BUCKET}/in/"}}
    sagemaker.create_transform_job(
        TransformJobName=NAME,
        ModelName=NAME,
        BatchStrategy="SingleRecord",
        MaxConcurrentTransforms=2,
        TransformInput={"DataSource": source, "ContentType": "text/csv", "SplitType": "Line"},
        TransformOutput={"S3OutputPath": f"s3://{BUCKET}/scored", "AssembleWith": "Line", "Accept": "text/csv"},
        TransformResources={"InstanceType": "ml.m5.large", "InstanceCount": 1},
        DataProcessing={"JoinSource": "Input"},
    )


def ask_all(endpoint: Battered, requests: int, found: Outlasted) -> None:
    """Ask until each request is accepted. Half of them name an object, the others have a body."""
    runtime = endpoint.client("sagemaker-runtime", attempts=1)

    def ask(number: int) -> None:
        shape = {"EndpointName": NAME, "ContentType": "text/csv", "Filename": f"{number}.csv"}
        given = {"Body": body_of(number)} if number % 2 else {"InputLocation": f"s3://{BUCKET}/asked/{number}"}
        while True:
            try:
                runtime.invoke_endpoint_async(**shape, **given, S3OutputPathExtension="n")
                found.accepted += 1
                return
            except (ClientError, BotoCoreError):
                found.asked_again += 1
                time.sleep(0.2)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(requests)))


def unanswered(bucket: Path, requests: int) -> list[int]:
    """The numbers of the requests that have neither a result nor a failure."""
    found = names(bucket / "out/n") | names(bucket / "failed/n")
    return [number for number in range(requests) if found.isdisjoint((f"{number}.csv", failure_of(number)))]


def failure_of(number: int) -> str:
    return f"{number}.csv-error.out"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def judged(bucket: Path, requests: int, found: Outlasted) -> list[str]:
    """The faults of the requests' results and failures."""
    out, failed = bucket / "out/n", bucket / "failed/n"
    faults = []
    for number in range(requests):
        result, failure = out / f"{number}.csv", failed / failure_of(number)
        if is_bad(number):
            found.failures += 1
            right = not result.exists() and failure.exists() and "not enough values" in failure.read_text()
        else:
            found.results += 1
            right = not failure.exists() and result.exists() and result.read_text() == f"{1000 * number + 7}\n"
        if not right:
            said = failure.read_text()[:300] if failure.exists() else "no failure object"
            faults.append(f"request {number} has not what it earned: {said}")
    known = {name for number in range(requests) for name in (f"{number}.csv", failure_of(number))}
    return faults + [f"{name} is too many" for name in (names(out) | names(failed)) - known]


def job_status(sagemaker: Any) -> str:
    with suppress(ClientError, BotoCoreError):
        described = sagemaker.describe_transform_job(TransformJobName=NAME)
        return str(described["TransformJobStatus"])
    return ""


def until(true: Callable[[], object], what: str) -> None:
    """Raises AssertionError if it does not come true."""
    deadline_s = time.monotonic() + WITHIN_S
    while not true():
        if time.monotonic() > deadline_s:
            raise AssertionError(f"it did not come to this: {what}")
        time.sleep(0.2)


def main() -> None:
    parser = command("outages", __doc__)
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"any of {', '.join(OUTAGES)}; else all of them")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--objects", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5, help="how often it is taken away")
    asked = parser.parse_args()
    if unknown := set(asked.what) - set(OUTAGES):
        parser.error(f"WHAT is any of {', '.join(OUTAGES)}, and not {', '.join(sorted(unknown))}")
    all_found = []
    for what in asked.what or OUTAGES:
        with tempfile.TemporaryDirectory(prefix="outages-") as folder:
            found = outlast(what, Path(folder), asked.requests, asked.objects, asked.rounds)
        all_found.append(found)
        print(
            f"{what}: {found.rounds} outages in {found.took_s:.0f} s; {found.accepted} accepted, {found.asked_again} "
            f"calls asked again; {found.results} results, {found.failures} earned failures, {found.objects} objects; "
            f"{found.log_lines} lines in the log; {len(found.faults)} faults",
            flush=True,
        )
        print("\n".join(found.faults[:20]))
    keep(asked.results, "outages", [asdict(found) for found in all_found])
    sys.exit(any(found.faults for found in all_found))


if __name__ == "__main__":
    main()
