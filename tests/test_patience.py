"""No outcome of a test rests on how fast the machine is: limits are generous, and clocks are read for no verdict.

A test waits for an event, counts calls, or moves a clock of its own. What ends a wait that would last for ever is no
verdict, and allows a busy machine minutes (`PATIENCE_S`), or half a minute for one step at the least.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
LEAST_S = 30.0
LIMITS = {"timeout", "timeout_s", "within_s"}
"""Arguments that limit a wait."""
PLACES = {"timeout": 0, "wait": 0, "join": 0, "result": 0, "acquire": 0, "wait_for": 1, "until": 1, "soon": 1}
"""Where functions and methods take such a limit without its name."""
MAY_LIMIT = re.compile(
    rf"\b(?:{'|'.join(sorted(LIMITS))})\s*="
    rf"|\b(?:{'|'.join(name for name, place in PLACES.items() if place == 0)})\(\s*[\w.+-]+\s*[,)]"
    rf"|\b(?:{'|'.join(name for name, place in PLACES.items() if place > 0)})\("
)
"""A file without such text has no such call: it is not parsed."""
CLOCKS = re.compile(r"\btime\.(?:time|monotonic|perf_counter|process_time)\(\)")

RUNS_OUT = "the wait is meant to run out, and nothing else can end it"
SEEN = "what must not happen has a moment to: on a busy machine the test may see less, and passes"
VIRTUAL = "the time is virtual"
SHORT = {
    "tests/container/artifacts/stores/test_s3.py": RUNS_OUT,
    "tests/container/formats/script/test_harm.py": RUNS_OUT,
    "tests/container/http/test_worker.py": SEEN,
    "tests/container/models/test_disk_tier.py": SEEN,
    "tests/container/processes/test_threads.py": RUNS_OUT,
    "tests/container/running/test_predicting.py": RUNS_OUT,
    "tests/container/running/test_runners.py": RUNS_OUT,
    "tests/container/transport/test_greeting.py": RUNS_OUT,
    "tests/container/transport/test_upstream.py": RUNS_OUT,
    "tests/endpoint/fleet/test_instance_pool_faults.py": VIRTUAL,
    "tests/endpoint/host/kubernetes/test_interrupted_launches.py": VIRTUAL,
    "tests/endpoint/host/ray/test_ray_host.py": VIRTUAL,
    "tests/endpoint/host/test_host_contract.py": RUNS_OUT,
    "tests/endpoint/routing/control/test_identity_publisher.py": SEEN,
    "tests/endpoint/routing/router/test_control_client.py": SEEN,
    "tests/endpoint/routing/test_control_and_routers_machine.py": VIRTUAL,
    "tests/endpoint/runtime/test_streams.py": SEEN,
    "tests/endpoint/services/autoscaling/acting/test_tracking_alarm_races.py": SEEN,
    "tests/account/moto/test_longtail.py": SEEN,
    "tests/endpoint/services/training/test_slow_records.py": SEEN,
    "tests/endpoint/services/transform/running/test_instances.py": VIRTUAL,
    "tests/sdk/conformance/test_container_client.py": RUNS_OUT,
}
"""Files with shorter limits, and why no speed of the machine changes an outcome."""

DEADLINE = "a deadline is no verdict, and is generous"
AT_LEAST = "at least so much time must pass: more of it fails nothing"
OWN_WORK = "processor time, which no other process takes"
EPOCH = "the day of a record, or of a policy"
READ = {
    "tests/clients/helpers/sagemaker_endpoint.py": "it is printed",
    "tests/container/adapter/test_foreign_container.py": OWN_WORK,
    "tests/container/artifacts/archives/test_hostile_archives.py": OWN_WORK,
    "tests/container/helpers/foreign_container.py": OWN_WORK,
    "tests/container/http/clients/test_client_connection.py": AT_LEAST,
    "tests/container/http/test_ticketed_app.py": EPOCH,
    "tests/container/measuring/test_cpu_time.py": OWN_WORK,
    "tests/container/modes/test_contract_mode.py": OWN_WORK,
    "tests/container/waiting/test_process_work.py": OWN_WORK,
    "tests/endpoint/clocks/test_live_travel.py": "virtual hours against a bound of minutes",
    "tests/endpoint/faults/test_live_faults.py": AT_LEAST,
    "tests/endpoint/helpers/constant_models.py": DEADLINE,
    "tests/endpoint/helpers/endpoint_pages.py": AT_LEAST,
    "tests/endpoint/helpers/lag_measuring_endpoint.py": OWN_WORK,
    "tests/endpoint/helpers/live_endpoint.py": DEADLINE,
    "tests/endpoint/helpers/peer_authorities.py": EPOCH,
    "tests/endpoint/peers/test_handshakes.py": EPOCH,
    "tests/endpoint/host/ray/test_whole_endpoint.py": "it is printed",
    "tests/endpoint/robust/test_emulated.py": AT_LEAST,
    "tests/endpoint/routing/router/test_live_shared_limits.py": "a rate is calls by the seconds that they took",
    "tests/endpoint/runtime/test_server_timing.py": "more time passes for the client than the answer says",
    "tests/account/cloudwatch/alarms/test_actions.py": EPOCH,
    "tests/account/iam/execution/test_grants.py": EPOCH,
    "tests/account/s3/test_bounded_store.py": OWN_WORK,
    "tests/endpoint/telemetry/test_live_telemetry.py": DEADLINE,
    "tests/helpers/waiting.py": DEADLINE,
    "tests/mutants.py": OWN_WORK,
    "tests/sdk/helpers/broken_container.py": DEADLINE,
    "tests/sdk/replay/test_paced_sending.py": EPOCH,
    "tests/sdk/simulator/test_what_if.py": EPOCH,
    "tests/sdk/workloads/trace_formats/test_ledger_trace.py": EPOCH,
}
"""Files that read a clock of the machine, and why no speed of the machine changes an outcome."""


def _number(node: ast.expr, constants: dict[str, ast.expr]) -> float | None:
    """The value of a literal, or of a constant of the module."""
    node = constants.get(node.id, node) if isinstance(node, ast.Name) else node
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    return None


def short_limits(source: str) -> Iterator[str]:
    """The calls with a limit that a busy machine may exceed."""
    if not MAY_LIMIT.search(source):
        return
    tree = ast.parse(source)
    named = (node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name))
    constants = {ast.unparse(node.targets[0]): node.value for node in named}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        given = [keyword.value for keyword in call.keywords if keyword.arg in LIMITS]
        place = PLACES.get(getattr(call.func, "attr", getattr(call.func, "id", "")))
        given += call.args[place : place + 1] if place is not None else []
        if any((limit := _number(one, constants)) is not None and limit < LEAST_S for one in given):
            yield ast.unparse(call)


@cache
def sources() -> dict[str, str]:
    paths = [path for path in sorted((ROOT / "tests").rglob("*.py")) if path != Path(__file__)]
    return {str(path.relative_to(ROOT)): path.read_text() for path in paths}


def test_a_limit_is_generous_or_says_why_not() -> None:
    found = {path: calls for path, source in sources().items() if (calls := list(short_limits(source)))}
    assert {path: calls for path, calls in found.items() if path not in SHORT} == {}
    assert SHORT.keys() - found.keys() == set()


def test_a_test_that_reads_a_clock_says_why() -> None:
    found = {path: calls for path, source in sources().items() if (calls := CLOCKS.findall(source))}
    assert {path: calls for path, calls in found.items() if path not in READ} == {}
    assert READ.keys() - found.keys() == set()


def test_the_check_finds_short_limits_and_clocks() -> None:
    source = "SOON_S = 5\nprocess.wait(SOON_S)\nprocess.wait(60)\nawait asyncio.wait_for(done, 0.5)\n','.join(words)\n"
    assert list(short_limits(source)) == ["process.wait(SOON_S)", "asyncio.wait_for(done, 0.5)"]
    assert list(short_limits("soon(true, within_s=2)")) == ["soon(true, within_s=2)"]
    assert CLOCKS.findall("began_s = time.monotonic()\ntime.sleep(1)") == ["time.monotonic()"]
