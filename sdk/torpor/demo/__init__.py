"""The demo: the example of AWS's multi-model blog, with real models, in steps. Each step does one thing and shows
it."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from torpor.bundling import bundle
from torpor.demo import houses, printed_tables
from torpor.demo.timed_calls import DemoCall, call
from torpor.errors import EndpointFailed
from torpor.hosting.local_endpoint import Local, local
from torpor.pages.numbers import MetricNumbers, VariantWindow
from torpor_container.waiting.quiet_time import QuietClock
from torpor_endpoint.core.pages.plain_figures import milliseconds
from torpor_endpoint.core.pages.state import InstanceState

TRAINERS = {
    houses.ONNX_CITY: houses.train_onnx,
    houses.SKLEARN_CITY: houses.train_sklearn,
    **dict.fromkeys(houses.XGBOOST_CITIES, houses.train_xgboost),
}
WARM_CALLS = 240
SLEEPER_MIB = 2048
SLEEP_AFTER_S = 1.0
ASLEEP_WITHIN_S = 30.0
EVICTED_COUNTS = (4, 4, 6, 8)
"""How many models the smaller instance should have no room for. What a process takes beside its models is not known in
advance: each size follows from what the instance before it uses, and the first that evicts any model is the last."""
LIBRARY = {"TORPOR_TREES": "library"}
"""So that models keep their size: flat trees, which take their place a moment later, would leave room for all."""


def play(console: Console) -> None:
    """Run all steps. Processes and files are always removed at the end."""
    began_s, started_at = time.perf_counter(), datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="torpor-demo-") as folder:
        models = train(console, Path(folder))
        with start(console, models) as endpoint:
            cold = first_calls(console, endpoint)
            warm = warm_calls(console, endpoint)
            new_city(console, endpoint, Path(folder))
            rounds = less_memory(console, endpoint)
            numbers(console, endpoint, started_at, rounds)
        let_it_sleep(console, models)
        compare(console, cold, warm)
    console.print(f"\nEverything is stopped and removed. The demo took {time.perf_counter() - began_s:.0f} s.")


def train(console: Console, folder: Path) -> Path:
    _announce(console, "Train twelve models", "ten XGBoost, one scikit-learn, one ONNX: a city's house prices each")
    models = folder / "models"
    with _progress(console) as progress:
        for city, trainer in progress.track(TRAINERS.items(), description="training"):
            bundle(trainer(city), models / f"{city}.tar.gz")
    console.print(printed_tables.artifacts(models))
    return models


def start(console: Console, models: Path) -> Local:
    _announce(console, "Serve them all from one endpoint", "with torpor.local(models='./models') as endpoint: …")
    with _timed(console, "one multi-model endpoint in service"):
        endpoint = local(models, name="house-prices")
    console.print(f"  at {endpoint.url}, for boto3 and the AWS CLI alike")
    return endpoint


def first_calls(console: Console, endpoint: Local) -> list[DemoCall]:
    _announce(console, "Call every model twice", "a model is loaded the moment that a request names it")
    cold = [call(endpoint, f"{city}.tar.gz") for city in TRAINERS]
    warm = [call(endpoint, f"{city}.tar.gz") for city in TRAINERS]
    console.print(printed_tables.calls(cold, warm))
    return cold


def warm_calls(console: Console, endpoint: Local) -> list[DemoCall]:
    cities = list(TRAINERS)
    with _progress(console) as progress:
        turns = progress.track(range(WARM_CALLS), description="warm calls")
        return [call(endpoint, f"{cities[turn % len(cities)]}.tar.gz") for turn in turns]


def new_city(console: Console, endpoint: Local, folder: Path) -> None:
    _announce(console, "Add a city while it serves", "copy its artifact to S3, call it: nothing is redeployed")
    name = f"{houses.NEW_CITY}.tar.gz"
    artifact = bundle(houses.train_xgboost(houses.NEW_CITY), folder / name)
    with _timed(console, f"{name} copied to {endpoint.model_data_url}"):
        endpoint.put(artifact)
    first = call(endpoint, name)
    console.print(f"  its first answer: ${first.price:,.0f}, after {milliseconds(first.took_s)}")


def less_memory(console: Console, endpoint: Local) -> int:
    """Returns how often it has called every model."""
    _announce(
        console, "Give the instance less memory", "by UpdateEndpoint, while it serves; then call every model again"
    )
    rounds, gone = 0, list[str]()
    for count in EVICTED_COUNTS:
        rounds += 1
        [roomy] = endpoint.instances()
        memory_mib = round(smaller_mib(roomy, count))
        with _timed(console, f"updated to TORPOR_MEMORY_MIB={memory_mib}, and to models without flat trees"):
            endpoint.deploy(memory_mib=memory_mib, environment=LIBRARY)
        gone = without_room(endpoint)
        if gone:
            break
    instances = endpoint.instances()
    console.print(printed_tables.residents(instances))
    if any(instance.used_bytes > instance.budget_bytes for instance in instances):
        console.print("  more than its memory: a model may grow while it predicts, and the next load makes room first")
    for target in gone[:1]:
        console.print(f"  $ torpor why {target}")
        console.print("\n".join(f"  {line}" for line in endpoint.why(target).lines()))
        console.print("  (a hit finds its model in memory: the call that loads a model is none)")
    return rounds


def smaller_mib(roomy: InstanceState, count: int) -> float:
    """The memory that an instance with every model uses, less this many models of median size, in MiB."""
    sizes = sorted(model.size_bytes for model in roomy.models)
    return (roomy.used_bytes - count * sizes[len(sizes) // 2]) / 1024**2


def without_room(endpoint: Local) -> list[str]:
    """Call every model in turn. Returns those that are not in memory at the end."""
    targets = [call(endpoint, f"{city}.tar.gz").target for city in TRAINERS]
    resident = {model.name for model in endpoint.models()}
    return [target for target in targets if target not in resident]


def numbers(console: Console, endpoint: Local, since: datetime, rounds: int) -> None:
    _announce(console, "Ask CloudWatch", "boto3.client('cloudwatch').get_metric_statistics(…)")
    window = VariantWindow(endpoint.name, endpoint.variant, since, datetime.now(UTC))
    console.print(printed_tables.metrics(MetricNumbers.read(endpoint.client("cloudwatch"), window)))
    console.print(f"  {called(rounds)}")


def called(rounds: int) -> str:
    """How the sum of Invocations comes about."""
    models = len(TRAINERS)
    parts = {
        "first and second": 2 * models,
        "warm": WARM_CALLS,
        "of the new city": 1,
        "with less memory": rounds * models,
    }
    return f"{sum(parts.values())} calls: {', '.join(f'{count} {what}' for what, count in parts.items())}"


def let_it_sleep(console: Console, models: Path) -> None:
    title = f"local(models, serverless={SLEEPER_MIB}, sleep_after_s={SLEEP_AFTER_S:g})"
    _announce(console, "Let it sleep", f"{title}: without calls, nothing runs")
    target = f"{houses.XGBOOST_CITIES[0]}.tar.gz"
    with local(models, name="sleeper", serverless=SLEEPER_MIB, sleep_after_s=SLEEP_AFTER_S) as endpoint:
        call(endpoint, target)
        with _timed(console, "asleep"):
            until_asleep(endpoint)
        console.print(f"  instances: {len(endpoint.instances())}; now one call, for a model that is not in memory")
        console.print(printed_tables.waking(call(endpoint, target)))


def until_asleep(endpoint: Local) -> None:
    """Wait until the endpoint has no instance. Raises EndpointFailed if it stays awake."""
    quiet_s = QuietClock()
    while endpoint.instances():
        if quiet_s() > ASLEEP_WITHIN_S:
            raise EndpointFailed(f"endpoint {endpoint.name} is still awake after {ASLEEP_WITHIN_S:g} s")
        time.sleep(0.05)


def compare(console: Console, cold: list[DemoCall], warm: list[DemoCall]) -> None:
    _announce(console, "Cold and warm", "the caller's time: with boto3, and without a network")
    console.print(printed_tables.comparison(cold, warm))


def _announce(console: Console, title: str, what: str) -> None:
    console.print()
    console.rule(Text(title, style="bold"), align="left", style="dim")
    console.print(f"  {what}", style="dim")


@contextmanager
def _timed(console: Console, done: str) -> Iterator[None]:
    began_s = time.perf_counter()
    with console.status(done, spinner="dots"):
        yield
    console.print(f"  {done} in {milliseconds(time.perf_counter() - began_s)}")


def _progress(console: Console) -> Progress:
    columns = (TextColumn("  {task.description}"), SpinnerColumn(), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
