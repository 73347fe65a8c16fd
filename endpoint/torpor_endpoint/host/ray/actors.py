"""The driver's table of a deployment's actors: asks each again and again, and tells what changes.

Everything here runs on the driver's one thread. What Ray answers comes back to it as an event (`DriverEvents`).
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from torpor_endpoint.host.ray.asking import why_pending
from torpor_endpoint.host.ray.driver_messages import EXITED, GONE, LEAVING, PENDING, RUNNING, ActorReport, News, Order

ASKED_WITHIN_S = 2.0
"""How long an actor without news keeps a question."""
OUTPUT_PAUSE_S = 0.5
AGAIN_S = 0.5
ENDED_PAUSE_S = 2.0
STOP_MARGIN_S = 15.0
KNOWN_WITHIN_S = 10.0
KNOWN_LOOK_S = 0.05
FREED_WITHIN_S = 10.0
FREED_LOOK_S = 0.02
RESTARTS = "Ray starts it again"


class Engine(Protocol):
    """What the table needs of Ray. No call waits for an actor; each may raise what Ray raises."""

    def names(self) -> list[str]:
        """The names of this deployment's actors."""

    def get(self, name: str) -> Any:
        """The actor of this name. Raises ValueError if there is none."""

    def create(self, order: Order) -> Any:
        """Start the slot's actor, or get the one that another process has just started."""

    def call(self, handle: Any, method: str, *arguments: Any) -> Any:
        """Call an actor's method: a future."""

    def kill(self, handle: Any) -> None:
        """End an actor for good."""

    def sizes(self) -> tuple[list[Mapping[str, float]], Mapping[str, float]]:
        """The resources of each node, and what is free of all."""

    def draining(self) -> Mapping[str, float]:
        """The nodes that drain, and until when each does, in epoch seconds; 0 for one without a deadline."""

    def fault(self, error: BaseException) -> tuple[str, str]:
        """The state that an actor is in whose call failed so, `pending` or `gone`, and the reason."""


class DriverEvents(Protocol):
    """Brings events to the driver's thread."""

    def after(self, pause_s: float, event: Callable[[], None]) -> None:
        """Call it after a pause."""

    def answered(self, future: Any, event: Callable[[Any], None]) -> None:
        """Call it with the future once that is done."""


@dataclass
class Watched:
    """One actor, and what was last told of it."""

    name: str
    handle: Any
    asked: Mapping[str, float] = field(default_factory=dict)
    incarnation: str = ""
    offset: int | None = None
    state: str = PENDING
    told: tuple[str, str, str] = ("", "", "")
    silent: bool = False  # nothing is known of it yet
    question: int = 0  # answers to earlier ones are of no interest
    node: str = ""
    leaves_at_s: float | None = None  # as it was told last


class ActorTable:
    """All actors of one deployment. `tell` brings news to the endpoint."""

    def __init__(self, engine: Engine, later: DriverEvents, tell: Callable[[News], None]) -> None:
        self._engine = engine
        self._later = later
        self._tell = tell
        self._watched: dict[str, Watched] = {}
        self._ending: dict[str, list[Callable[[str], None]]] = {}  # by name: what is done afterwards

    @property
    def busy(self) -> bool:
        """Whether an instance is being ended."""
        return bool(self._ending)

    # -- commands: each calls `done` once, with the empty text or the reason why it failed ---------------------------
    def watch(self, done: Callable[[str], None]) -> None:
        """Learn which actors there are. Nothing is told of one before it has answered: it may well run."""
        for name in self._engine.names():
            if name not in self._watched:
                try:
                    self._begin(Watched(name, self._engine.get(name), silent=True))
                except ValueError:  # it ended in between
                    continue
        self._until_known(KNOWN_WITHIN_S, done)

    def launch(self, order: Order, done: Callable[[str], None]) -> None:
        """Start an actor for the slot. One that is there stays."""
        name = order["slot"]
        if name in self._ending:
            self._ending[name].append(lambda _: self.launch(order, done))
            return
        if name not in self._watched:
            self._begin(Watched(name, self._engine.create(order), order["asked"]))
        done("")

    def terminate(self, name: str, grace_s: float, done: Callable[[str], None]) -> None:
        """Stop the slot's instance, and end its actor."""
        if name in self._ending:
            self._ending[name].append(done)
            return
        self._ending[name] = [done]

        def ended(reason: str) -> None:
            for then in self._ending.pop(name):
                then(reason)

        watched = self._watched.get(name)
        if watched is None:
            try:
                watched = Watched(name, self._engine.get(name))
            except ValueError:
                ended("")
                return
        if watched.state in (PENDING, EXITED) and name in self._watched:
            self._kill(watched, ended)
            return
        stopping = self._engine.call(watched.handle, "stop", grace_s)
        once = _Once(lambda: self._last_words(watched, ended))
        self._later.answered(stopping, lambda _: once())
        self._later.after(grace_s + STOP_MARGIN_S, once)

    # -- the end of an actor -----------------------------------------------------------------------------------------
    def _last_words(self, watched: Watched, done: Callable[[str], None]) -> None:
        """Take what is left of the output before the actor goes."""
        watched.question += 1
        offset = watched.offset

        def told(future: Any) -> None:
            if future.exception() is None and (report := future.result())["output"] and watched.incarnation:
                self._told(watched, report)
                if watched.offset != offset:
                    self._last_words(watched, done)
                    return
            self._kill(watched, done)

        asked = self._engine.call(watched.handle, "report", watched.incarnation, watched.offset, 0.0)
        once = _Once(lambda: self._kill(watched, done))
        self._later.answered(asked, lambda future: once.unless(lambda: told(future)))
        self._later.after(STOP_MARGIN_S, once)

    def _kill(self, watched: Watched, done: Callable[[str], None]) -> None:
        watched.question += 1
        self._engine.kill(watched.handle)
        self._until_freed(watched, FREED_WITHIN_S, done)

    def _until_freed(self, watched: Watched, within_s: float, done: Callable[[str], None]) -> None:
        """The name is free a moment later."""
        try:
            self._engine.get(watched.name)
        except ValueError:
            self._forget(watched, "it was terminated")
            done("")
            return
        if within_s <= 0:
            done(f"Ray did not end the actor {watched.name} in time")
        else:
            again = lambda: self._until_freed(watched, within_s - FREED_LOOK_S, done)  # noqa: E731
            self._later.after(FREED_LOOK_S, again)

    def _forget(self, watched: Watched, reason: str) -> None:
        if self._watched.get(watched.name) is watched:
            del self._watched[watched.name]
        self._tell(News(slot=watched.name, state=GONE, reason=reason))

    # -- questions and answers ---------------------------------------------------------------------------------------
    def refresh(self) -> None:
        """Tell why those wait that have no place, and whose nodes drain."""
        self._tell_draining()
        waiting = [one for one in self._watched.values() if one.state == PENDING and not one.silent]
        if waiting:
            nodes, free = self._engine.sizes()
            for one in waiting:
                self._waits(one, why_pending(one.asked, nodes, free) if one.asked else "it waits for a place on Ray")

    def _tell_draining(self) -> None:
        running = [one for one in self._watched.values() if one.state == RUNNING]
        draining = self._engine.draining() if running else {}
        for one in running:
            leaves_at_s = draining.get(one.node)
            if leaves_at_s != one.leaves_at_s:
                one.leaves_at_s = leaves_at_s
                self._tell(News(slot=one.name, state=LEAVING, reason="", leaves_at_s=leaves_at_s))

    def _until_known(self, within_s: float, done: Callable[[str], None]) -> None:
        """Wait until all have answered. Those that do not in time have no place."""
        silent = [one for one in self._watched.values() if one.silent]
        if silent and within_s > 0:
            self._later.after(KNOWN_LOOK_S, lambda: self._until_known(within_s - KNOWN_LOOK_S, done))
            return
        for one in silent:
            one.silent = False
        self.refresh()
        done("")

    def _begin(self, watched: Watched) -> None:
        self._watched[watched.name] = watched
        self.refresh()
        self._ask(watched)

    def _ask(self, watched: Watched) -> None:
        if self._watched.get(watched.name) is not watched:
            return
        watched.question += 1
        question = watched.question
        within_s = 0.0 if watched.state == EXITED else ASKED_WITHIN_S
        asked = self._engine.call(watched.handle, "report", watched.incarnation, watched.offset, within_s)

        def answered(future: Any) -> None:
            if watched.question == question and self._watched.get(watched.name) is watched:
                watched.silent, error = False, future.exception()
                pause_s = self._told(watched, future.result()) if error is None else self._failed(watched, error)
                self._later.after(pause_s, lambda: self._ask(watched) if watched.question == question else None)

        self._later.answered(asked, answered)

    def _told(self, watched: Watched, report: ActorReport) -> float:
        """Tell the endpoint what is new, and return the pause before the next question."""
        output = report["output"]
        if watched.incarnation != report["incarnation"]:
            watched.incarnation, watched.node, watched.leaves_at_s = report["incarnation"], report["node"], None
        watched.offset, watched.asked = report["offset"] + len(output), report["asked"]
        ended = report["ended"] is not None and not output
        watched.state = EXITED if ended else RUNNING
        now = (watched.state, watched.incarnation, report["ended"] or "")
        if output or now != watched.told:
            news = News(slot=watched.name, state=watched.state, reason=report["ended"] or "")
            news["report"] = {name: value for name, value in report.items() if name != "output"}
            news["output"] = b64encode(output).decode()
            self._tell(news)
        watched.told = now
        if ended:
            return ENDED_PAUSE_S
        return 0.0 if report["ended"] is not None else OUTPUT_PAUSE_S if output else 0.0

    def _failed(self, watched: Watched, error: BaseException) -> float:
        state, reason = self._engine.fault(error)
        if state == GONE:
            self._forget(watched, reason)
        else:
            watched.state, watched.incarnation, watched.offset = PENDING, "", None
            self._waits(watched, RESTARTS)
        return AGAIN_S

    def _waits(self, watched: Watched, reason: str) -> None:
        now = (PENDING, "", reason)
        if now != watched.told:
            watched.told = now
            self._tell(News(slot=watched.name, state=PENDING, reason=reason))


class _Once:
    """Does it once, whoever calls first."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._done = False

    def __call__(self) -> None:
        self.unless(self._act)

    def unless(self, act: Callable[[], None]) -> None:
        """Do this in its place, unless something was done already."""
        if not self._done:
            self._done = True
            act()
