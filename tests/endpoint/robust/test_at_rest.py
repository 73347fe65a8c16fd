"""The imports of an idle endpoint: memory is the cost of being idle."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from torpor_endpoint.__main__ import option_parser
from torpor_endpoint.options import Options, command_line

HEAVY = frozenset(
    {
        "anyio",
        "awscrt",
        "boto3",
        "botocore",
        "http.client",
        "moto",
        "numpy",
        "obstore",
        "prometheus_client",
        "pyarrow",
        "sklearn",
        "starlette.applications",
        "starlette.exceptions",
        "tarfile",
        "torpor_container.app",
        "torpor_account.aws.service",
        "torpor_account.core.access.needs",
        "torpor_endpoint.services.sagemaker.service",
        "torpor_endpoint.services.job_parts",
        "torpor_endpoint.pages.app",
        "torpor_account.s3.app",
        "torpor_account.access.login.login_face",
        "torpor_endpoint.core.pricing.shipped_prices",
        "torpor_endpoint.faces.finding_models",
        "torpor_endpoint.faces.open_inference.v2_face",
        "torpor_endpoint.faces.tf_serving.tfs_face",
        "torpor_endpoint.faults.injector",
        "torpor_endpoint.fleet.retiring",
        "typer",
        "xgboost",
        "xml.etree",
    }
)
"""Each takes a third of a MiB and more, or brings what does."""

COMPILED_MAX = 240
"""Methods of classes that `dataclass` or `frozen` compiles at a start: 218 were counted, and 1,684 before there was
`frozen`. Six of them take as long as the import of a small module. Raise it only with the reason in the changelog."""

COMPILED = """
import torpor_endpoint.app, torpor_container.http.worker
kinds = {kind for module in list(sys.modules.values()) for kind in vars(module).values()
         if isinstance(kind, type) and str(kind.__module__).startswith("torpor")}
methods = [f"{kind.__module__}.{kind.__qualname__}.{name}" for kind in kinds if "__dataclass_fields__" in vars(kind)
           for name, method in vars(kind).items()
           if getattr(getattr(method, "__code__", None), "co_filename", "") == "<string>"]
"""

ARBITER = "import torpor_container.http.gunicorn_server, torpor_endpoint.up"

WORKER = """
import asyncio
import torpor_container.http.worker
from torpor_endpoint.app import EndpointProcess
from torpor_endpoint.options import Options

async def rest(folder):
    app, healthy = EndpointProcess(Options(data_dir=folder)).app(), asyncio.Event()
    up, said = asyncio.Event(), []
    events = [lambda: asyncio.sleep(0, {"type": "lifespan.startup"}), healthy.wait]
    async def receive():
        return await events.pop(0)()
    async def send(message):
        said.append(message["type"])
        up.set()
    life = asyncio.create_task(app({"type": "lifespan"}, receive, send))
    await up.wait()
    await app({"type": "http", "method": "GET", "path": "/_torpor/health", "headers": []}, receive, send)
    healthy.set()
    await life
    assert said == ["lifespan.startup.complete", "http.response.start", "http.response.body",
                    "lifespan.shutdown.complete"], said

asyncio.run(rest(Path(sys.argv[1])))
"""


def imported_by(code: str, *arguments: str, asked: str = "list(sys.modules)") -> set[str]:
    """The modules of a fresh process after it has run `code`, or what else is asked."""
    program = f"import json, sys\nfrom pathlib import Path\n{code}\nprint(json.dumps({asked}))"
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_a_resting_endpoint_has_imported_nothing_that_only_a_caller_needs(tmp_path: Path) -> None:
    assert imported_by(WORKER, str(tmp_path)) & HEAVY == set()


def test_a_start_compiles_few_methods_of_classes() -> None:
    methods = imported_by(COMPILED, asked="methods")
    assert len(methods) <= COMPILED_MAX, sorted(methods)


def test_the_arbiter_has_imported_nothing_that_serves() -> None:
    beyond = {
        "asyncio",
        "starlette",
        "sqlite3",
        "torpor_endpoint.app",
        "torpor_container.http.worker",
        "httptools",
        *HEAVY,
    }
    assert imported_by(ARBITER) & beyond == set()


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(Path("a b"), "::1", 0, 7, True, "http://s3", Path("-i"), 1.5, "aws", 0, 60.0, "1" * 12, "eu", "info"),
        Options(travelling_clock=True, faults=True),
        Options(allow_hosts=("a", "b.c"), allow_origins=("http://a:1",)),
    ],
)
def test_a_command_line_means_the_options_it_was_made_of(options: Options) -> None:
    assert Options(**vars(option_parser().parse_args(command_line(options)))) == options
