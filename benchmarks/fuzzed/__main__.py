"""`python -m benchmarks.fuzzed [--signed 5000] [--bytes 100000] [--seed N]`: requests that nobody should send.

First, valid signed requests with one change each go to an endpoint with `--auth`: none may be accepted. Then requests
of scrambled bytes go to an endpoint that verifies nobody: none may be answered by a fault of the endpoint's own (5xx
but 501 and 503) or hang, and its memory may not grow. It ends with 1 otherwise.
"""

import configparser
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import boto3
from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.fuzzed.raw import StoodStill, scrambled, status
from benchmarks.fuzzed.signed import REGION, RawRequest, changed, requests
from benchmarks.ports import free_port
from benchmarks.sleeping import children

THREADS = 8
HUNG = -1
REFUSED_BY_DESIGN = (501, 503)
"""What is not there, and what is too much at the moment: both are answers, and no faults."""
GROWTH_MAX_MIB = 8.0
"""What an allocator may keep."""


def main() -> None:
    parser = command("fuzzed", __doc__)
    parser.add_argument("--signed", type=int, default=5_000)
    parser.add_argument("--bytes", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(10**6)
    console = Console(width=160)
    console.print(f"seed {seed}")
    figures = {"seed": seed, **_signed(arguments.signed, seed), **_scrambled(arguments.bytes, seed)}
    for name, value in figures.items():
        console.print(f"{name}: {value}", markup=False)
    keep(arguments.results, "fuzzed", figures)
    sys.exit(
        bool(
            figures["accepted"]
            or figures["signed and hung"]
            or figures["own faults"]
            or figures["hung"]
            or figures["grew too much"]
        )
    )


def _signed(count: int, seed: int) -> dict[str, object]:
    with _endpoint("--auth") as (folder, port, _):
        keys = _root(folder)
        host = f"127.0.0.1:{port}"
        _prepared(port, keys)
        valid = [status(("127.0.0.1", port), one.data()) for one in requests(host, keys)]
        assert all(one is not None and one not in (401, 403) for one in valid), f"valid requests got {valid}"

        def tried(number: int) -> tuple[str, int | None]:
            dice = random.Random(f"{seed}-{number}")
            one = changed(dice.choice(requests(host, keys)), dice)
            text = f"{one.method} {one.target} {dict(one.headers)}"
            try:
                return text, status(("127.0.0.1", port), one.data())
            except StoodStill:
                return text, HUNG

        with ThreadPoolExecutor(THREADS) as pool:
            answers = list(pool.map(tried, range(count)))
    hung = [text for text, code in answers if code == HUNG]
    accepted = [text for text, code in answers if code is not None and code < 400 and code != HUNG]
    return {
        "signed": count,
        "accepted": len(accepted),
        "signed and hung": hung[:3],
        "examples": accepted[:3],
        "answers": dict(Counter(str(code) for _, code in answers)),
    }


def _scrambled(count: int, seed: int) -> dict[str, object]:
    with _endpoint() as (_, port, pid):
        address = ("127.0.0.1", port)
        _prepared(port, ("x", "y"))
        seeds = requests(f"127.0.0.1:{port}", ("x", "y"))
        _sent(address, seeds, 3 * count // 2, f"{seed}-warm")  # which fills the caches, whose size is bounded
        before_mib = _memory_mib(pid)
        began_s = time.monotonic()
        answers, hung = _sent(address, seeds, count, str(seed))
        took_s, after_mib = time.monotonic() - began_s, _memory_mib(pid)
        with urlopen(f"http://127.0.0.1:{port}/_torpor/health", timeout=10) as answer:
            assert answer.status == 200
    faults = {code: number for code, number in answers.items() if code is not None and code >= 500}
    return {
        "scrambled": count,
        "a second": round(count / took_s),
        "statuses": {str(code): number for code, number in sorted(answers.items(), key=str)},
        "own faults": sum(number for code, number in faults.items() if code not in REFUSED_BY_DESIGN),
        "hung": hung,
        "memory before and after in MiB": [round(before_mib, 1), round(after_mib, 1)],
        "grew too much": after_mib - before_mib > GROWTH_MAX_MIB,
    }


def _sent(
    address: tuple[str, int], seeds: Sequence[RawRequest], count: int, seed: str
) -> tuple[Counter[int | None], int]:
    def one(number: int) -> int | StoodStill | None:
        try:
            return status(address, scrambled(seeds, random.Random(f"{seed}-{number}")))
        except StoodStill as hung:
            return hung

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(one, range(count)))
    hung = sum(isinstance(answer, StoodStill) for answer in answers)
    return Counter(answer for answer in answers if not isinstance(answer, StoodStill)), hung


@contextmanager
def _endpoint(*options: str) -> Iterator[tuple[Path, int, int]]:
    """Its data folder, its port and its process."""
    with tempfile.TemporaryDirectory(prefix="fuzzed-") as folder:
        data, port = Path(folder) / "data", free_port()
        arguments = ["-m", "torpor_endpoint", "--port", str(port), "--data-dir", str(data), *options]
        process = subprocess.Popen([sys.executable, *arguments], stderr=(Path(folder) / "log").open("wb"))
        try:
            _until_ready(port)
            yield data, port, process.pid
        finally:
            process.terminate()
            process.wait(30)


def _until_ready(port: int) -> None:
    for _ in range(600):
        try:
            with urlopen(f"http://127.0.0.1:{port}/_torpor/health", timeout=2):
                return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError("the endpoint does not answer")


def _root(data: Path) -> tuple[str, str]:
    parser = configparser.ConfigParser()
    parser.read(data / "credentials")
    (section,) = parser.sections()
    return parser[section]["aws_access_key_id"], parser[section]["aws_secret_access_key"]


def _prepared(port: int, keys: tuple[str, str]) -> None:
    s3 = boto3.client(
        "s3", REGION, endpoint_url=f"http://127.0.0.1:{port}", aws_access_key_id=keys[0], aws_secret_access_key=keys[1]
    )
    s3.create_bucket(Bucket="fuzzed")
    s3.put_object(Bucket="fuzzed", Key="there", Body=b"content")


def _memory_mib(pid: int) -> float:
    """The private memory of the endpoint's processes."""
    total = 0
    for one in (pid, *children(pid)):
        for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
            if line.startswith(("Private_Clean", "Private_Dirty")):
                total += int(line.split()[1])
    return total / 1024


if __name__ == "__main__":
    main()
