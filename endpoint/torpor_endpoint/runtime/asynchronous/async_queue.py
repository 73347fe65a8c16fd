"""Keeps the requests that wait, in a database: one that was accepted survives any crash. Ended ones stay for a day.

Changes that come together are written together: a commit waits for the disk, and one is enough for all of them.
"""

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from torpor_account.storage.databases.database import Database, DatabasePart, Migration, OutcomeUnknown
from torpor_account.storage.lone_thread import LoneThread
from torpor_container.typed_json import read, written
from torpor_endpoint.core.async_inference.requests import AsyncRequest, AsyncState, KeptRequest, Notice

KEPT_S = 86_400.0
"""How long the record of a request that has ended stays."""
PRUNED_MAX = 1_000
"""So many records are forgotten at a time: others wait meanwhile."""

_TABLES = """
    CREATE TABLE requests (
        number INTEGER PRIMARY KEY AUTOINCREMENT, inference_id TEXT NOT NULL, endpoint TEXT NOT NULL,
        variant TEXT NOT NULL, state TEXT NOT NULL, received_s REAL NOT NULL, expires_s REAL NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0, ended_s REAL, reason TEXT, request TEXT NOT NULL, body BLOB,
        topic TEXT, notice TEXT
    );
    CREATE INDEX by_state ON requests (state, number);
    CREATE INDEX by_endpoint ON requests (endpoint, number);
    CREATE INDEX by_id ON requests (inference_id, number);
    CREATE INDEX by_end ON requests (ended_s);
    CREATE INDEX unsent ON requests (number) WHERE notice IS NOT NULL;
"""
ASYNC_REQUESTS = DatabasePart("async", (Migration(_TABLES),), further=True)

WAITING = "number, endpoint, variant, received_s, expires_s, attempts"
COLUMNS = "number, state, attempts, ended_s, reason, request"
INSERT = """
    INSERT INTO requests (inference_id, endpoint, variant, state, received_s, expires_s, request, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
END = """
    UPDATE requests SET state = ?, ended_s = ?, reason = ?, topic = ?, notice = ?, body = NULL
    WHERE number = ? AND state = ?
"""
CANCEL = "UPDATE requests SET state = ?, ended_s = ?, body = NULL WHERE number = ? AND state = ?"
ATTEMPT = "UPDATE requests SET attempts = ? WHERE number = ? AND state = ?"
DOOM = "UPDATE requests SET expires_s = 0, reason = ? WHERE endpoint = ? AND state = ?"
DOOM_OF = f"{DOOM} AND variant = ?"
PRUNE = "DELETE FROM requests WHERE number IN (SELECT number FROM requests WHERE ended_s < ? LIMIT ?)"


class Waiting(NamedTuple):
    """What is in memory of a request that waits."""

    number: int
    endpoint: str
    variant: str
    received_s: float
    expires_s: float
    attempts: int = 0  # those that count


class UnsentNotice(NamedTuple):
    """A notice that its topic does not have yet."""

    number: int
    endpoint: str
    variant: str
    notice: Notice


class AsyncQueue:
    """`clock` gives epoch seconds. The coroutines are for the event loop's thread; the others wait for the disk."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock
        self._thread = LoneThread("async queue")
        self._coming: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        self._writing: asyncio.Task[None] | None = None

    def close(self) -> None:
        self._thread.shutdown()
        self._database.close()

    # -- changes ---------------------------------------------------------------------------------------------------
    async def add(self, request: AsyncRequest) -> int:
        """Keep a request. When this returns its number, a crash cannot lose it."""
        number: int = await self._changed(partial(self._insert, _row(request)))
        return number

    async def begin(self, number: int, attempt: int) -> KeptRequest | None:
        """Keep that the request's attempt of this number begins, and return the request; None if it waits no more."""
        kept: KeptRequest | None = await self._changed(partial(self._begin, number, attempt))
        return kept

    async def uncount(self, number: int, attempts: int) -> None:
        """The last attempt was none: there were so many before it."""
        await self._changed(partial(self._database.changed, ATTEMPT, attempts, number, AsyncState.QUEUED))

    async def end(
        self, number: int, state: AsyncState, reason: str | None = None, notice: Notice | None = None
    ) -> None:
        """The request has ended. Its input is kept no longer. `notice` is kept until its topic has it. A second call
        changes nothing: so it may be made again where the outcome of the first is unknown."""
        topic, text = (None, None) if notice is None else notice
        values = (state, self._clock(), reason, topic, text, number, AsyncState.QUEUED)
        await self._changed(partial(self._database.changed, END, *values))

    async def sent(self, number: int) -> None:
        """The topic has the notice."""
        statement = "UPDATE requests SET notice = NULL WHERE number = ?"
        await self._changed(partial(self._database.changed, statement, number))

    async def cancel(self, number: int) -> bool:
        """Cancel a request that waits. False if it waits no more."""
        values = (AsyncState.CANCELLED, self._clock(), number, AsyncState.QUEUED)
        found: bool = await self._changed(partial(self._database.changed, CANCEL, *values))
        return found

    async def doom(self, endpoint: str, reason: str, variants: Collection[str] | None = None) -> None:
        """No request that waits for this endpoint, or for these variants of it, may be answered any more."""
        values = (reason, endpoint, AsyncState.QUEUED)
        if variants is None:
            await self._changed(partial(self._database.changed, DOOM, *values))
        for variant in variants or ():
            await self._changed(partial(self._database.changed, DOOM_OF, *values, variant))

    async def prune(self) -> None:
        """Forget the requests that ended more than `KEPT_S` ago."""
        while await self._changed(partial(self._database.changed, PRUNE, self._clock() - KEPT_S, PRUNED_MAX)):
            continue

    # -- reading ---------------------------------------------------------------------------------------------------
    def waiting(self) -> list[Waiting]:
        """All requests that wait, in the order of their arrival."""
        statement = f"SELECT {WAITING} FROM requests WHERE state = ? ORDER BY number"
        return [Waiting(*row) for row in self._database.rows(statement, AsyncState.QUEUED)]

    def unsent(self, but_to: Collection[str], most: int) -> list[UnsentNotice]:
        """Notices that their topics do not have yet, the oldest first; none to these topics."""
        others = f"AND topic NOT IN ({', '.join('?' * len(but_to))})" if but_to else ""
        statement = f"""
            SELECT number, endpoint, variant, topic, notice FROM requests
            WHERE notice IS NOT NULL {others} ORDER BY number LIMIT ?
        """
        found = self._database.rows(statement, *but_to, most)
        return [UnsentNotice(number, endpoint, variant, Notice(*rest)) for number, endpoint, variant, *rest in found]

    def get(self, number: int) -> KeptRequest | None:
        """The request with its input."""
        rows = self._database.rows(f"SELECT {COLUMNS}, body FROM requests WHERE number = ?", number)
        return _kept(*rows[0]) if rows else None

    def several(self, numbers: Sequence[int]) -> list[KeptRequest]:
        """These requests without their inputs, the latest first."""
        marks = ", ".join("?" * len(numbers))
        statement = f"SELECT {COLUMNS} FROM requests WHERE number IN ({marks}) ORDER BY number DESC"
        return [_kept(*row) for row in self._database.rows(statement, *numbers)]

    def find(self, inference_id: str) -> list[KeptRequest]:
        """The requests of this inference id without their inputs, the latest first: callers may use one id again."""
        statement = f"SELECT {COLUMNS} FROM requests WHERE inference_id = ? ORDER BY number DESC"
        return [_kept(*row) for row in self._database.rows(statement, inference_id)]

    def latest(self, endpoint: str | None, state: AsyncState | None, most: int) -> list[KeptRequest]:
        """The latest requests without their inputs, of an endpoint or in a state if these are given."""
        given = {"endpoint": endpoint, "state": state}
        wanted = {name: value for name, value in given.items() if value is not None}
        where = f"WHERE {' AND '.join(f'{name} = ?' for name in wanted)}" if wanted else ""
        statement = f"SELECT {COLUMNS} FROM requests {where} ORDER BY number DESC LIMIT ?"
        return [_kept(*row) for row in self._database.rows(statement, *wanted.values(), most)]

    # -- inside: writing together ----------------------------------------------------------------------------------
    async def _changed(self, change: Callable[[], Any]) -> Any:
        """What the change returns, once it is on the disk. Raises what it raises."""
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._coming.append((change, done))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write(), name="async queue")
        return await done

    async def _write(self) -> None:
        try:
            while self._coming:
                together, self._coming = self._coming, []
                loop = asyncio.get_running_loop()
                try:
                    outcomes = await loop.run_in_executor(self._thread, self._all, [change for change, _ in together])
                except RuntimeError as error:  # the thread was shut down, or the system gives none
                    outcomes = [error] * len(together)
                for (_, done), outcome in zip(together, outcomes, strict=True):
                    _settle(done, outcome)
        finally:
            self._writing = None

    def _all(self, changes: Sequence[Callable[[], Any]]) -> list[Any]:
        """The outcome of each change: what it returned or raised. One that fails takes no other with it."""
        try:
            with self._database.transaction():
                return [change() for change in changes]
        except OutcomeUnknown as error:  # a request that was kept would be kept twice
            return [error] * len(changes)
        except Exception as error:  # noqa: BLE001 - it is the outcome
            return [error] if len(changes) == 1 else [self._all([change])[0] for change in changes]

    def _insert(self, row: tuple[object, ...]) -> int:
        return self._database.inserted(INSERT, *row)

    def _begin(self, number: int, attempt: int) -> KeptRequest | None:
        return self.get(number) if self._database.changed(ATTEMPT, attempt, number, AsyncState.QUEUED) else None


def _settle(done: "asyncio.Future[Any]", outcome: Any) -> None:
    if done.done():
        return
    if isinstance(outcome, Exception):
        done.set_exception(outcome)
    else:
        done.set_result(outcome)


def _row(request: AsyncRequest) -> tuple[object, ...]:
    fields = written(replace(request, body=None))
    del fields["body"]
    return (
        request.inference_id,
        request.endpoint,
        request.variant,
        AsyncState.QUEUED,
        request.received_s,
        request.expires_s,
        json.dumps(fields, separators=(",", ":")),
        request.body,
    )


def _kept(
    number: int,
    state: str,
    attempts: int,
    ended_s: float | None,
    reason: str | None,
    request: str,
    body: bytes | None = None,
) -> KeptRequest:
    made = replace(read(AsyncRequest, json.loads(request)), body=body)
    return KeptRequest(number, made, AsyncState(state), ended_s, reason, attempts)
