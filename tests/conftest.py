"""Hypothesis sets no deadline, since other programs share the machine, and tries fewer examples than it does otherwise;
`make test-thorough` tries fifteen times as many.

Processes that share the tests (`-n 4`) take a file at a time, slow ones first, and import it then: what a file has in
common is made once, and no test meets what an earlier turn of its own file left in a server that all share.

Numeric libraries have one thread each: the threads of several would wait for one another by spinning, which takes as
much processor time as the tests themselves on a busy machine. An instance of an endpoint has as many as ever.

What collection imports stays until the end: the garbage collector does not look through it again and again, and seldom
through what tests make, which is much and short-lived. So do the
models of AWS's services: each session of boto3 would read its own, a third of a second for SageMaker's.
"""

import gc
import os
import signal
from collections.abc import Iterator
from functools import cache

import botocore.session
import pytest
from hypothesis import settings

from tests.account.helpers.database_fixtures import database_url, opened, postgresql
from tests.helpers import files_in_turn
from tests.helpers.example_counts import THOROUGH, USUAL
from torpor_container.processes.zygote import LIBRARY_VARIABLES
from torpor_container.processes.zygote_client import ZygoteClient

__all__ = ("database_url", "opened", "postgresql")  # pytest finds these fixtures here

settings.register_profile("shared", deadline=None, max_examples=USUAL)
settings.register_profile("thorough", deadline=None, max_examples=THOROUGH)
settings.load_profile("shared")
os.environ.update(LIBRARY_VARIABLES)
gc.disable()
botocore.session.create_loader = cache(botocore.session.create_loader)


@pytest.fixture(scope="session", autouse=True)
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder for configuration without any: the user's own price list changes no outcome."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("configuration")))
        yield


def pytest_collection_finish() -> None:
    gc.set_threshold(20_000)
    gc.enable()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        files_in_turn.register(config)
        share_forking(config.workerinput["forking"])
    elif config.pluginmanager.has_plugin("xdist"):
        from tests.helpers.whole_files import SharedRun

        config.pluginmanager.register(SharedRun())


def share_forking(told: tuple[str, int, dict[str, str]]) -> None:
    """What is forked is forked by one process for all that share the tests, if it read the same variables."""
    from tests.helpers.forked_starts import starting

    address, pid, read = told
    if read == starting.AT_THE_START:
        starting.share(starting.SharedForking(bytes.fromhex(address), pid, os.getpid()))


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZygoteClient]:
    """One for all tests that only fork from it, as an endpoint has one. Its owner's key is no child's business."""
    from tests.helpers.forked_starts.forked_zygotes import SharedZygote, whole_zygote

    path = tmp_path_factory.mktemp("warm") / "s"
    with whole_zygote(path, {"OWNERS_KEY": "secret"}) as pid:
        yield SharedZygote(path, pid)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where the tests run in a shell's background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
