"""Each time limit of the product has a row in the table of a busy machine, and counts what that row says."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.helpers.source_trees import ROOT, modules, nodes
from torpor_container.core.prediction_pace import LONG_S
from torpor_container.core.trials import BYTES_PER_S, FIXED_S, MIB
from torpor_container.core.work_wait import WALL_MULTIPLE
from torpor_container.formats.script.child_process import GRACE_S
from torpor_container.formats.xgboost.older_versions import TIMEOUT_S
from torpor_container.http.server import PATIENCE
from torpor_container.http.tls.front import HANDSHAKE_S
from torpor_container.settings import DEFAULTS
from torpor_container.waiting.quiet_time import QUIET_SHARE
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.fleet.timing import TIMING
from torpor_endpoint.host.local import FORK_TIMEOUT_S
from torpor_endpoint.runtime.passage import CallLimits

PAGE = (ROOT / "docs" / "reference" / "limits.md").read_text()
SECTION = PAGE.partition("## A busy machine")[2].partition("\n## ")[0]
ROWS: dict[str, str] = dict(re.findall(r"^\| (.+?) \| .+? \| (.+?) \| .+? \|$", SECTION, re.MULTILINE))
"""What a limit counts, by what waits."""

QUIET, WORK, CLOCK = "quiet time", "work", "the clock"
COUNTS = {
    "patiently": QUIET,
    "QuietClock": QUIET,
    "WorkWait": WORK,
    "asyncio.timeout": CLOCK,
    "asyncio.wait_for": CLOCK,
}
"""What a limit counts, by the call that sets it. Any other call with an argument `timeout` goes by the clock."""

CALL = "Call of a model"
LOAD = "Load of a model"
READY = "Model that is not in memory yet"
CLUSTER = "Instances on Kubernetes or Ray"
BODY = "Unfinished body"
CONTROL = "Control that does not answer its router"
STOP = "Requests in flight, and processes, when an endpoint stops"
INSTANCE_STOP = "Requests in flight when an instance stops"
IGNORES = "Process that ignores its end"
ASKED = "Instance that is asked"
CALLER = "Call by `torpor`'s client"
START = "Start and stop of an endpoint by `torpor.local` and pytest"
IN_USE = "Data folder or schema that another endpoint uses"
HANDSHAKE = "Handshake of TLS"

LIMITS: dict[str, tuple[str, ...]] = {
    "container/torpor_container/__main__.py": (ASKED,),
    "container/torpor_container/adapter/body_routers.py": (
        "Part of a streamed answer",
        "Foreign container that loads",
    ),
    "container/torpor_container/adapter/contract_client.py": (
        "Part of a streamed answer",
        "Foreign container that loads",
    ),
    "container/torpor_container/adapter/repository_client.py": (
        "Part of a streamed answer",
        "Foreign container that loads",
    ),
    "container/torpor_container/adapter/foreign_server.py": (
        "Foreign container that answers no ping",
        "Container of another",
    ),
    "container/torpor_container/adapter/model_adapters.py": ("Foreign container that loads",),
    "container/torpor_container/artifacts/similar_names.py": ("Names similar",),
    "container/torpor_container/artifacts/shared/asking_neighbours.py": ("Artifact from a neighbour",),
    "container/torpor_container/artifacts/stores/s3_access.py": ("Download from S3",),
    "container/torpor_container/formats/script/child_process.py": (
        LOAD,
        "Part of a streamed answer",
        "Script that has ended",
    ),
    "container/torpor_container/formats/script/answer_stream.py": ("Script that has ended",),
    "container/torpor_container/formats/xgboost/older_versions.py": ("Conversion of an old XGBoost file",),
    "container/torpor_container/http/clients/connections.py": ("Client that sends no head",),
    "container/torpor_container/http/tls/front.py": (HANDSHAKE,),
    "container/torpor_container/http/worker.py": (STOP, INSTANCE_STOP),
    "container/torpor_container/models/in_memory.py": (LOAD, IGNORES),
    "container/torpor_container/models/keeper.py": (READY,),
    "container/torpor_container/modes/single_mode.py": (LOAD, READY),
    "container/torpor_container/processes/zygote_client.py": (IGNORES,),
    "container/torpor_container/running/requirements.py": (LOAD,),
    "container/torpor_container/models/on_device/device_runner.py": (CALL,),
    "container/torpor_container/running/runners.py": (CALL,),
    "container/torpor_container/transport/peers/handing.py": ("Certificate that the control hands over",),
    "container/torpor_container/transport/stream_client.py": ("Part of a streamed answer",),
    "container/torpor_container/transport/upstream.py": (CALL,),
    "container/torpor_container/trials/tester.py": ("Trial of a new version",),
    "endpoint/torpor_endpoint/clocks/instance_clocks.py": (ASKED,),
    "endpoint/torpor_endpoint/clocks/travelling.py": ("Moved clock",),
    "endpoint/torpor_endpoint/simulating/simulator_process.py": ("Simulation that the dashboard asks for",),
    "endpoint/torpor_endpoint/faults/routing.py": ("Injected fault",),
    "endpoint/torpor_endpoint/fleet/instance_pool.py": (INSTANCE_STOP,),
    "endpoint/torpor_endpoint/fleet/supervision/container_supervisor.py": ("Place for an instance",),
    "endpoint/torpor_endpoint/fleet/supervision/memory_sharing.py": (ASKED,),
    "endpoint/torpor_endpoint/fleet/supervision/probe.py": ("Instance that answers no ping",),
    "endpoint/torpor_endpoint/fleet/supervision/slot_supervisor.py": ("Start of an instance",),
    "endpoint/torpor_endpoint/fleet/versions/beside_loading.py": (ASKED,),
    "endpoint/torpor_endpoint/in_service/asked_state.py": (ASKED,),
    "endpoint/torpor_endpoint/host/kubernetes/api/client.py": (CLUSTER,),
    "endpoint/torpor_endpoint/host/kubernetes/api/cluster.py": (CLUSTER,),
    "endpoint/torpor_endpoint/host/kubernetes/host_start.py": (CLUSTER,),
    "endpoint/torpor_endpoint/host/kubernetes/slot_end.py": (CLUSTER,),
    "endpoint/torpor_endpoint/host/kubernetes/kubernetes_host.py": (CLUSTER,),
    "endpoint/torpor_endpoint/host/kubernetes/pod_output.py": (CLUSTER,),
    "endpoint/torpor_endpoint/host/local.py": ("Fork of an instance", INSTANCE_STOP),
    "endpoint/torpor_endpoint/host/ray/driver.py": (CLUSTER,),
    "endpoint/torpor_endpoint/host/ray/driver_process.py": (CLUSTER,),
    "endpoint/torpor_endpoint/host/ray/ray_host.py": (CLUSTER,),
    "endpoint/torpor_account/request_bodies.py": (BODY,),
    "endpoint/torpor_endpoint/routing/router/control_client.py": (CONTROL,),
    "endpoint/torpor_endpoint/routing/router/followed_pool.py": ("Instance at a router that suspects it",),
    "endpoint/torpor_endpoint/routing/router/start.py": ("Control that does not answer a router that starts",),
    "endpoint/torpor_endpoint/routing/control/local_routers.py": (STOP,),
    "endpoint/torpor_account/iam/execution/loopback.py": ("Credentials of an execution role",),
    "endpoint/torpor_endpoint/runtime/asynchronous/attempt.py": ("Asynchronous request",),
    "endpoint/torpor_endpoint/runtime/asynchronous/notifying.py": ("Message to SNS",),
    "endpoint/torpor_endpoint/runtime/capture/capturing.py": (STOP,),
    "endpoint/torpor_endpoint/runtime/composed_router.py": (STOP,),
    "endpoint/torpor_endpoint/runtime/holding.py": (READY,),
    "endpoint/torpor_endpoint/runtime/streams.py": ("Part of a streamed answer",),
    "endpoint/torpor_account/s3/wire/http_exchange.py": ("Upload to S3",),
    "endpoint/torpor_endpoint/services/transform/running/instances.py": ("Advice of a container",),
    "endpoint/torpor_endpoint/services/jobs/scripts/script_process.py": (
        "Training job, processing job",
        "Last output of a training or a processing job",
    ),
    "endpoint/torpor_endpoint/services/tuning/running/tuning_work.py": ("Tuning job",),
    "endpoint/torpor_account/storage/data_dir.py": (IN_USE,),
    "endpoint/torpor_account/storage/databases/postgresql_schema.py": (IN_USE,),
    "sdk/torpor/calling/connection.py": (CALLER,),
    "sdk/torpor/calling/connection_pool.py": (CALLER,),
    "sdk/torpor/cli/commands/up.py": ("First answer that `torpor up`",),
    "sdk/torpor/confirming/queued_requests.py": ("Queue of `torpor confirm`",),
    "sdk/torpor/conformance/container_client.py": ("`torpor conformance`",),
    "sdk/torpor/demo/__init__.py": ("Demo's endpoint",),
    "sdk/torpor/hosting/endpoint_deployment.py": ("Endpoint that `torpor.local` deploys",),
    "sdk/torpor/hosting/data_folder.py": (START,),
    "sdk/torpor/hosting/endpoint_process.py": (START,),
    "sdk/torpor/replay/target.py": (CALLER,),
}
"""The rows of each module that sets a time limit, by their beginnings."""

PAUSES = {
    "sdk/torpor/cli/commands/router.py": "an announcement, up to the longest that quiet time allows",
    "container/torpor_container/models/quarantine.py": "how long a good verdict waits to be written with others",
    "container/torpor_container/transport/multiplexed.py": "without a shared connection, requests go by HTTP",
    "container/torpor_container/waiting/quiet_timeout.py": "it makes limits of quiet time",
    "endpoint/torpor_endpoint/fleet/components/batch_updates.py": "how long a batch waits for drains, which go on",
    "endpoint/torpor_endpoint/fleet/deployment.py": "how long a rollout shows that its old fleet ends, which goes on",
    "endpoint/torpor_endpoint/fleet/supervision/slot_successors.py": "how long a machine is there that goes",
    "endpoint/torpor_endpoint/fleet/ahead_loading.py": "how long traffic waits for a load, which goes on",
    "endpoint/torpor_endpoint/in_service/asked_tiers.py": "how long a question waits for an instance, which goes on",
    "endpoint/torpor_endpoint/in_service/first_meeting.py": "how long an instance waits for others, which come later",
    "endpoint/torpor_endpoint/fleet/rollouts/two_fleets.py": "how long a step waits for drains, which go on",
    "endpoint/torpor_endpoint/routing/router/reports/reporting.py": "the period of a report",
    "endpoint/torpor_endpoint/routing/control/pages_for_routers.py": "how long an answer waits for news",
    "endpoint/torpor_endpoint/routing/control/publishing.py": "how long an answer waits for news",
    "endpoint/torpor_endpoint/runtime/asynchronous/line_sending.py": "the period of a look",
    "endpoint/torpor_account/s3/wire/patience.py": "when an answer begins that is not known yet",
}
"""Modules whose waits end nothing, and why."""


def limits_of(path: Path) -> Iterator[str]:
    """What the time limits of a module count."""
    for node in nodes(path):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if name in COUNTS:
            yield COUNTS[name]
        elif any(keyword.arg == "timeout" for keyword in node.keywords) or _asks(node):
            yield CLOCK


def _asks(call: ast.Call) -> bool:
    """Whether it sends a request with a limit of its own."""
    sends = isinstance(call.func, ast.Attribute) and call.func.attr in ("send", "ask", "connect")
    return sends and any(re.search(r"\b[A-Z_]+_S$", ast.unparse(argument)) for argument in call.args)


@cache
def found() -> dict[str, set[str]]:
    """What the limits of each module count, for all modules that set one."""
    counts = {str(path.relative_to(ROOT)): set(limits_of(path)) for path in modules().values()}
    return {path: counted for path, counted in counts.items() if counted}


def row(beginning: str) -> str:
    """What the row counts that begins so."""
    (counts,) = [counts for name, counts in ROWS.items() if name.startswith(beginning)]
    return counts


def test_each_module_that_sets_a_time_limit_has_a_row_or_says_why_not() -> None:
    assert found().keys() - PAUSES.keys() == LIMITS.keys()
    assert PAUSES.keys() <= found().keys()


def test_a_limit_counts_what_its_row_says() -> None:
    said = {path: {row(one).partition(" of its server")[0] for one in rows} for path, rows in LIMITS.items()}
    assert {path: counts - found()[path] for path, counts in said.items() if counts - found()[path]} == {}
    other = {path: found()[path] & {QUIET, WORK} - counts for path, counts in said.items()}
    assert {path: counts for path, counts in other.items() if counts} == {}


SAID = (
    {12: "twelve times"}[WALL_MULTIPLE],
    f"| {FIXED_S:g} s, and 1 s for every {BYTES_PER_S // MIB} MiB | work |",
    f"Conversion of an old XGBoost file | {TIMEOUT_S:g} s | work |",
    f"names | {DEFAULTS.load_timeout_s:g} s | quiet time |",
    f"`TORPOR_INVOCATION_TIMEOUT_SECONDS`) | {DEFAULTS.invocation_timeout_s:g} s, as on AWS |",
    f"all of it {CallLimits().stream_s:g} s, as on AWS |",
    f"not there yet | {DEFAULTS.ready_wait_s:g} s, as on AWS |",
    f"whose caller has left | {GRACE_S:g} s to end |",
    f"answers no ping | {TIMING.ping_within_s:g} s, as on AWS; {TIMING.unhealthy_after} pings in a row |",
    f"TimeoutInSeconds`) | {Variant.startup_timeout_s:g} s, as on AWS |",
    f"Prediction on the event loop | {LONG_S * 1000:g} ms |",
    f"Fork of an instance | {FORK_TIMEOUT_S:g} s |",
    f"another machine | {TIMING.placed_within_s:g} s |",
    f"too little of it | {PATIENCE.head_s:g} s, {PATIENCE.slow_s:g} s |",
    f"Handshake of TLS | {HANDSHAKE_S:g} s |",
    {0.25: "less than a quarter of the time"}[QUIET_SHARE],
)


def test_the_table_has_the_numbers_of_the_code() -> None:
    assert [said for said in SAID if said not in SECTION] == []
