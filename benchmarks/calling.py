"""`python -m benchmarks.calling [--short]`: the cost of a call in its client: boto3, `torpor.Caller`, `http.client`.

All clients call the same warm model of one endpoint, from one process and one thread. No time is asserted.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from pathlib import Path
from statistics import mean, median
from urllib.parse import urlsplit

from rich.console import Console

import torpor
from benchmarks import scene
from benchmarks.command import command, keep
from benchmarks.own_answers import make_models
from benchmarks.tables import table
from torpor.calling.signature_v4 import SignedPost, Signer

CONTENT_TYPE = "text/csv"
WARM_UP = 50

Call = Callable[[], bytes]
"""Makes one call, and returns the answer's body."""


@dataclass(frozen=True)
class Row:
    """Medians over the rounds; `behind_us`, the processor time of the endpoint and its instance, is their mean."""

    caller: str
    cpu_us: float
    lowest_us: float
    behind_us: float
    wall_us: float


@dataclass(frozen=True)
class Spent:
    """The microseconds per call, in one round."""

    cpu_us: float
    behind_us: float
    wall_us: float


def main() -> None:
    parser = command("calling", __doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: few calls, figures that mean little")
    wanted = parser.parse_args()
    rounds, calls = (2, 50) if wanted.short else (15, 200)
    with tempfile.TemporaryDirectory() as folder:
        results = run(Path(folder), rounds, calls)
    show(results)
    keep(wanted.results, "calling", results)


def run(folder: Path, rounds: int, calls: int) -> dict[str, object]:
    [model] = make_models(folder, 1)
    with torpor.local(folder, name="calling") as endpoint, callers(endpoint, model) as by_name:
        rows = measured(by_name, endpoint.pid, rounds, calls)
    return {
        "machine": {"cores": os.cpu_count(), "load": os.getloadavg()[0]},
        "rounds": rounds,
        "calls": calls,
        "callers": [asdict(row) for row in rows],
        "signing_us": signing_us(calls * 10),
    }


@contextmanager
def callers(endpoint: torpor.Local, model: str) -> Iterator[dict[str, Call]]:
    """The clients, each with a keep-alive connection of its own."""
    boto3 = endpoint.client("sagemaker-runtime")
    bare = HTTPConnection(urlsplit(endpoint.url).netloc)
    path = f"/endpoints/{endpoint.name}/invocations"
    headers = {"Content-Type": CONTENT_TYPE, "X-Amzn-SageMaker-Target-Model": model}

    def by_boto3() -> bytes:
        answer = boto3.invoke_endpoint(
            EndpointName=endpoint.name, TargetModel=model, ContentType=CONTENT_TYPE, Body=scene.ROW
        )
        body: bytes = answer["Body"].read()
        return body

    def by_http_client() -> bytes:
        bare.request("POST", path, scene.ROW, headers)
        return bare.getresponse().read()

    with endpoint.caller() as caller:

        def by_caller() -> bytes:
            return caller.invoke(endpoint.name, scene.ROW, target_model=model, content_type=CONTENT_TYPE).body

        yield {"boto3": by_boto3, "torpor.Caller": by_caller, "http.client, unsigned": by_http_client}
    bare.close()


def measured(by_name: dict[str, Call], pid: int, rounds: int, calls: int) -> list[Row]:
    """The clients take turns within each round, so that a slow minute slows all of them. Raises ValueError for a wrong
    answer."""
    answers = {call() for call in by_name.values() for _ in range(WARM_UP)}
    if len(answers) != 1:
        raise ValueError(f"one model and one row had several answers: {answers}")
    behind = scene.tree(pid)
    spent: dict[str, list[Spent]] = {name: [] for name in by_name}
    for _ in range(rounds):
        for name, call in by_name.items():
            spent[name].append(_spent(call, behind, calls))
    return [_row(name, every) for name, every in spent.items()]


def _spent(call: Call, behind: Sequence[int], calls: int) -> Spent:
    began_s, began_cpu_s, began_behind_s = time.perf_counter(), time.process_time(), scene.cpu_s(list(behind))
    for _ in range(calls):
        call()
    cpu_s, wall_s = time.process_time() - began_cpu_s, time.perf_counter() - began_s
    behind_s = scene.cpu_s(list(behind)) - began_behind_s
    return Spent(*(1e6 * each_s / calls for each_s in (cpu_s, behind_s, wall_s)))


def _row(name: str, spent: Sequence[Spent]) -> Row:
    cpu_us = [each.cpu_us for each in spent]
    behind_us = mean(each.behind_us for each in spent)
    return Row(name, median(cpu_us), min(cpu_us), behind_us, median(each.wall_us for each in spent))


def signing_us(count: int) -> dict[str, float]:
    """The median processor microseconds of one signature, by botocore's signer and by Torpor's, in turn."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import ReadOnlyCredentials

    whose = ReadOnlyCredentials("AKIA", "secret", None)
    headers = {"content-type": CONTENT_TYPE, "x-amzn-sagemaker-target-model": "model-0.tar.gz"}
    path = "/endpoints/houses/invocations"
    theirs, ours = SigV4Auth(whose, "sagemaker", "us-east-1"), Signer("us-east-1", "sagemaker")
    request = SignedPost(path, {"host": "127.0.0.1:4700", **headers}, scene.ROW)
    signs: dict[str, Callable[[], object]] = {
        "botocore": lambda: theirs.add_auth(AWSRequest("POST", f"http://127.0.0.1:4700{path}", headers, scene.ROW)),
        "torpor": lambda: ours.signed(request, whose, time.time()),
    }
    taken: dict[str, list[float]] = {name: [] for name in signs}
    for _ in range(9):
        for name, sign in signs.items():
            began_s = time.process_time()
            for _ in range(count // 9):
                sign()
            taken[name].append(1e6 * (time.process_time() - began_s) / (count // 9))
    return {name: median(each) for name, each in taken.items()}


def show(results: dict[str, object]) -> None:
    console = Console()
    console.print(f"{results['machine']}, medians of {results['rounds']} rounds of {results['calls']} calls")
    rows, signing = results["callers"], results["signing_us"]
    assert isinstance(rows, list)
    assert isinstance(signing, dict)
    console.print(table("One warm call, microseconds", rows))
    console.print(table("One signature, processor microseconds", [signing]))


if __name__ == "__main__":
    main()
