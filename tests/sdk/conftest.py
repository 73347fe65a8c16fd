"""One process for endpoints of the whole session, and one endpoint on it over a folder of small real models."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.rich_utils  # noqa: F401  it looks at FORCE_COLOR as it is imported: before any test sets that

import torpor
from tests.sdk.helpers.forked_endpoints import forked_endpoints
from tests.sdk.helpers.small_models import CITIES, ROWS, shifted, train_booster
from torpor.hosting.endpoint_process import NO_GUESS_S, Start
from torpor.hosting.shared_process import SharedProcess


@pytest.fixture(scope="session", autouse=True)
def forked() -> Iterator[None]:
    with forked_endpoints():
        yield


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six artifacts of some size, each of which answers otherwise."""
    folder, trained = tmp_path_factory.mktemp("models"), train_booster(rounds=150)
    for number, city in enumerate(CITIES):
        torpor.bundle(shifted(trained, 100.0 * number), folder / city)
    return folder


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder to be another process's TMPDIR: short, since the path of a Unix socket is limited."""
    with tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def shared() -> Iterator[SharedProcess]:
    """For endpoints of names of their own: the start of a process takes seconds."""
    with SharedProcess(Start(warm_idle_s=NO_GUESS_S)) as process:
        yield process.until_ready()


@pytest.fixture(scope="session")
def endpoint(shared: SharedProcess, models: Path) -> Iterator[torpor.Local]:
    with shared.local(models, name="shared") as running:
        running.invoke(CITIES[0], ROWS)
        yield running
