"""No process outlives the one that started it, however that one ends."""

import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.helpers.processes import children, descendants, stop
from torpor.hosting.endpoint_process import ChildEndpoint

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pidfds and lifelines are Linux's")

OWNER = """
import sys, threading, torpor
def begin():
    global endpoint
    endpoint = torpor.local(sys.argv[1])
thread = threading.Thread(target=begin)  # a thread that ends before its endpoint does
thread.start()
thread.join()
endpoint.invoke("city0.tar.gz", [[1, 2, 3, 4]])
print("serving", flush=True)
sys.stdin.read()
"""


def test_everything_ends_with_an_owner_that_was_killed(models: Path, temporary: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(models)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
        text=True,
    )
    with owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "serving\n"
        family = [os.pidfd_open(pid) for pid in descendants(owner.pid)]
        assert len(family) >= 4  # arbiter, endpoint, zygote, instance
        owner.send_signal(signal.SIGKILL)
    for process in family:
        ended, _, _ = select.select([process], [], [], 20)
        os.close(process)
        assert ended
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_close_leaves_nothing() -> None:
    process = ChildEndpoint().until_ready()
    for worker in children(process.pid):
        stop(worker)  # so that it does not end when it is asked to
    interrupt = threading.Timer(0.2, signal.pthread_kill, [threading.get_ident(), signal.SIGINT])
    try:
        with pytest.raises(KeyboardInterrupt), process:
            interrupt.start()
        assert not process.data_dir.exists()
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)
    finally:
        interrupt.cancel()  # a close that took no time fails here, and interrupts no other test
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
