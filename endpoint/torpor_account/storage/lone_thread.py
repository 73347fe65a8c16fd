"""Runs work in one daemon thread: work that hangs in it cannot keep the process alive."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Work = Callable[[], None]


class LoneThread(Executor):
    """An executor with one daemon thread, which starts with the first work and does it in the order of submission."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = Lock()
        self._thread: Thread | None = None
        self._closed = False
        self._waiting: SimpleQueue[tuple[Future[Any], Work] | None] = SimpleQueue()

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Raises RuntimeError after the shutdown, and where the system gives no thread."""
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError(f"{self._name} was shut down")
            if self._thread is None:
                thread = Thread(target=self._run, name=self._name, daemon=True)
                thread.start()
                self._thread = thread  # a thread that did not start is tried again by the next work
            self._waiting.put((future, lambda: future.set_result(function(*args, **kwargs))))
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = True) -> None:
        """Cancel the work that waits, and return at once: work that runs goes on alone."""
        with self._lock:
            self._closed = True
            with suppress(Empty):  # the thread takes from the queue too
                while True:
                    if (left := self._waiting.get_nowait()) is not None:
                        left[0].cancel()
            self._waiting.put(None)

    def _run(self) -> None:
        while (next_one := self._waiting.get()) is not None:
            future, work = next_one
            if future.set_running_or_notify_cancel():
                _settled(future, work)


def _settled(future: Future[Any], work: Work) -> None:
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - outer edge of the thread: the future raises it where it is awaited
        future.set_exception(error)
