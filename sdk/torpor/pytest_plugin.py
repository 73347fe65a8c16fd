"""The pytest plugin: one endpoint process for a whole test session, which starts when a test first asks for it.

Every pytest run in the environment loads this module, so it imports nothing but pytest.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from torpor.hosting.endpoint_process import Start
    from torpor.hosting.shared_process import SharedProcess
    from torpor.testing.fault_injection import FaultInjection
    from torpor.testing.movable_clock import MovableClock


@pytest.fixture(scope="session")
def torpor_start(request: pytest.FixtureRequest) -> "Start":
    """The options of the session's endpoint process: a travelling clock, and faults if a test asks for them.

    Override this fixture to start it otherwise:

    @pytest.fixture(scope="session")
    def torpor_start():
        return torpor.testing.Start(strict=True, travelling_clock=True)
    """
    from torpor.hosting.endpoint_process import NO_GUESS_S, Start

    wanted = (getattr(item, "fixturenames", ()) for item in request.session.items)
    faults = any("torpor_faults" in names for names in wanted)
    return Start(travelling_clock=True, faults=faults, warm_idle_s=NO_GUESS_S)


@pytest.fixture(scope="session")
def torpor_endpoint(torpor_start: "Start") -> "Iterator[SharedProcess]":
    """An endpoint process on a free port, with no SageMaker endpoint, model or bucket in it yet.

        def test_a_model(torpor_endpoint):
            with torpor_endpoint.local("./models", name="houses") as endpoint:      # as `torpor.local`, on this process
                endpoint.invoke("Houston_TX.tar.gz", [[1995, 2100, 3, 2, 0.3, 2]])

        def test_the_api(torpor_endpoint):
            sagemaker = torpor_endpoint.client("sagemaker")      # any boto3 client, connected to it
            folder = torpor_endpoint.bucket_folder("models")     # a bucket is a folder: copy artifacts into it
            torpor_endpoint.url, torpor_endpoint.environment     # the URL, and the AWS_* variables for other processes

    The data folder is temporary. When the session ends, or is killed, the process ends with it. Each worker of
    pytest-xdist has a process of its own.
    """
    from torpor.hosting.shared_process import SharedProcess

    with SharedProcess(torpor_start) as process:
        yield process.until_ready()


@pytest.fixture
def torpor_environment(torpor_endpoint: "SharedProcess") -> "Iterator[SharedProcess]":
    """Leads an unmodified application to the endpoint: its boto3 clients without options call it for this test.

    The test has the endpoint's `AWS_*` variables, and no others of the shell. boto3's default session is a new one.
    """
    from torpor.testing.client_environment import lead_here

    with lead_here(torpor_endpoint.environment):
        yield torpor_endpoint


@pytest.fixture
def torpor_reset(torpor_endpoint: "SharedProcess") -> "SharedProcess":
    """The same process with nothing in it: before this test, everything of earlier tests is removed, and the clock is
    the real one again. The URL stays. `pytestmark = pytest.mark.usefixtures("torpor_reset")` does so for each test of a
    module. It takes about a second.
    """
    return torpor_endpoint.reset()


@pytest.fixture
def torpor_clock(torpor_endpoint: "SharedProcess") -> "MovableClock":
    """The endpoint's clock, which moves forward: `advance(minutes=20)`, `set(datetime(…, tzinfo=UTC))`, `now`.

    It is the clock of the process, and is not set back: a later test finds it where this one leaves it.
    """
    from torpor.testing.movable_clock import MovableClock

    return MovableClock(torpor_endpoint.connection)


@pytest.fixture
def torpor_faults(torpor_endpoint: "SharedProcess") -> "Iterator[FaultInjection]":
    """Has faults strike the endpoint for this test: `torpor_faults.inject(FaultSchedule.parse("throttled times=2"))`.

    `struck` lists what has struck so far. After the test nothing strikes any more. A fault that never struck is a
    warning.
    """
    from torpor.testing.fault_injection import FaultInjection

    injection = FaultInjection(torpor_endpoint.connection)
    yield injection
    injection.clear()
    injection.warn()


@pytest.fixture
def torpor_s3(torpor_endpoint: "SharedProcess") -> Iterator[Any]:
    """A boto3 client of S3, connected to the endpoint. Buckets that the test makes are deleted after it."""
    from torpor.testing.new_buckets import new_buckets_deleted

    client = torpor_endpoint.client("s3")
    try:
        with new_buckets_deleted(client):
            yield client
    finally:
        torpor_endpoint.release(client)
