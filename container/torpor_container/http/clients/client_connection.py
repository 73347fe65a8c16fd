"""One client's connection: its requests, one after another, and their answers.

`messages` reads requests and writes answers; this class decides what comes when. A connection is in one of four states:

    IDLE ──── a request ────> INLINE ──── its answer is told ────> IDLE
    IDLE ──── a request ────> CALLED ──── its answer is whole, and so is its body ────> IDLE
    IDLE ──── the upgrade to frames ────> FRAMES                              (no way back)

- *IDLE.* Nothing has come that is not answered, but for a part of a head.
- *INLINE.* The application has taken a request without a task: a warm prediction takes less time than a task and the
  messages of ASGI. Whole requests to an invocation's path are offered so, by what `known_heads` keeps of their heads.
- *CALLED.* The application has the request by ASGI (`asgi_call`). Once its answer is whole, the next request begins,
  though the application may still run.
- *FRAMES.* All bytes are `FramedRequests`'.

At a port that several processes serve, a request that is another's goes there with its connection (`sharing.giving`),
once all answers before it have left.

HTTP/1.1 answers requests in their order, so what comes behind the request in hand is held and not looked at, as much of
it as `paced_stream` allows. Where requests came together, or many chunks, the event loop serves others in between.

What ends a connection: a request that is refused; an application that fails; a server that is told to stop, after the
answer in hand; a client that leaves; one that sends no more, once all that came whole is answered (RFC 9112, section
9.6; `half_closed` looks for those that have left instead); one that keeps the server waiting (`core.client_timeouts`);
or the keep-alive time without a request. After its client has left, an application may go on for `asgi_call.GRACE_S`,
as others may wait for what that client began.
"""

import asyncio
from typing import cast

from starlette.types import Scope

from torpor_container.core.client_timeouts import ConnectionStage, Stage
from torpor_container.http.clients.asgi_call import AsgiCall, cancel_late
from torpor_container.http.clients.connections import Peer
from torpor_container.http.clients.framed_requests import App, Client, FramedRequests
from torpor_container.http.clients.idle_timer import IdleTimer
from torpor_container.http.clients.in_hand import InHand
from torpor_container.http.clients.known_heads import KnownHead
from torpor_container.http.clients.paced_stream import PacedStream
from torpor_container.http.clients.request_scopes import RequestScopes
from torpor_container.http.clients.served_port import ServedPort
from torpor_container.http.messages.answer_bytes import CONTINUE, refusal, whole_answer
from torpor_container.http.messages.request_heads import RequestHead, RequestRefused
from torpor_container.http.sharing.channel import Ends
from torpor_container.transport.frames import UPGRADE, UPGRADED, BadHeaders, Header

RUNNING_ON_MAX = 16
"""So many answered requests of one connection may have their application still running before the next one begins."""

NEW_S = 1.0
"""A connection as young as this is not idle: its first request is on its way."""


class Connection(PacedStream):
    """The connection. `half_closed`: its client sends no more, and may still read; `answer_begun`: something of the
    answer to the request in hand was written."""

    scopes: RequestScopes
    peer: Peer

    def __init__(self, port: ServedPort, ends: Ends | None = None) -> None:
        super().__init__(port.loop)
        self._given = ends
        self.port = port
        self.half_closed = False
        self.answer_begun = False
        self.waiting = ConnectionStage()
        self.hand = InHand(port.heads)
        self._idle_timer = IdleTimer(port.loop, port.options.keep_alive_s, self._close_if_idle)
        self._gone: asyncio.Event | None = None  # for those with frames

    # -- what its client sends ---------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class
        self.scopes = RequestScopes(self._given or Ends.of(transport), self.port.state)
        self.peer = self.scopes.ends.peer
        self.port.connections.add(self)

    def data_received(self, data: bytes) -> None:
        hand, reader = self.hand, self.hand.reader
        if hand.framed is not None:  # FRAMES
            hand.framed.read(data)
            return
        if self.closed:
            return
        idle = hand.inline is None and hand.call is None
        if reader.unread:
            reader.add(data)
        elif self.port.framed and idle and (asked := UPGRADE.fullmatch(data)) and self.port.framed == asked[1]:
            self._upgrade(asked[1])
            return
        else:
            reader.unread = data
        if not hand.planned:
            if idle:
                self._begin_next()
            elif hand.call is not None:
                self._take_in(hand.call)
        if reader.unread or hand.call is not None:
            self.hold(hand.held_bytes)

    def _begin_next(self) -> None:
        """Begin the next request, if its head is there as a whole."""
        try:
            known = self.hand.reader.head()
            if known is not None:
                self._begin(known, self.scopes.of(known.head, known.scope))
        except RequestRefused as refused:
            self.refuse(refused.status, refused.why)

    def _begin(self, known: KnownHead, scope: Scope) -> None:
        hand, head, take = self.hand, known.head, known.take
        hand.requests += 1
        body = None
        if take is not None and not self.write_paused:
            body = hand.reader.whole_body(head)
            if body is not None:
                hand.inline = head
                try:
                    if take(scope, body, self._tell):
                        return
                except Exception:  # noqa: BLE001  the outer edge of a request: it is logged, and its connection ends
                    self._fail()
                    return
                hand.inline = None
        self._begin_call(head, scope, body)

    def _begin_call(self, head: RequestHead, scope: Scope, body: bytes | None) -> None:
        hand = self.hand
        if self.port.giving is not None and self.port.giving.gives(self, scope, body or b""):
            return
        if head.expects_continue and head.length == 0:
            self.write(CONTINUE)  # the AWS CLI, and botocore up to 1.41, wait for it before an empty body too
        hand.call = call = AsgiCall(self, head, self.port.log, self.port.alive)
        if body is None:
            hand.reader.begin_body(head)
        elif body:
            call.intake.feed(body)
        hand.tasks[call] = self.port.loop.create_task(call.run(self.port.app, scope))
        self._take_in(call)

    def _take_in(self, call: AsgiCall) -> None:
        """Hand on what has come of the body."""
        reader, intake = self.hand.reader, call.intake
        before = len(reader.unread)
        if intake.whole:
            return
        try:
            if not reader.body_whole and (piece := reader.body()):
                intake.feed(piece)
        except RequestRefused as refused:
            self.refuse(refused.status, refused.why)
            return
        if reader.body_whole:
            intake.end()
            self.settle(call)
        elif 0 < len(reader.unread) < before:
            self._plan()

    def _plan(self) -> None:
        """Read on in the event loop's next round."""
        if not self.hand.planned and not self.closed:
            self.hand.planned = True
            self.port.loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        hand, self.hand.planned = self.hand, False
        if self.closed or (hand.call is None and len(hand.tasks) >= RUNNING_ON_MAX):
            return  # in the latter case it reads on once one of these is over
        if hand.call is not None:
            self._take_in(hand.call)
        elif hand.inline is None:
            self._begin_next()
        self.hold(hand.held_bytes)
        self.close_if_answered()

    def _upgrade(self, path: bytes) -> None:
        """From IDLE to FRAMES."""
        self._gone = asyncio.Event()
        client = Client(self._write_frames, self.close)
        app, scope = cast(App, self.port.app), self.scopes.of_frames(path)
        self.hand.framed = FramedRequests(app, scope, client, self._gone, self.port.log)
        self.write(UPGRADED)

    # -- INLINE ------------------------------------------------------------------------------------------------------
    def _tell(self, status: int, headers: list[Header], content: bytes) -> None:
        head, self.hand.inline = self.hand.inline, None
        if head is not None and not self.closed:
            closes = not (head.keeps_alive and self.port.alive)
            try:
                self.write(whole_answer(status, headers, content, head.version, closes))
            except BadHeaders:
                self._fail()
                return
            if closes:
                self.close()
        self._go_on()

    def _fail(self) -> None:
        """In the handler of an error of the application's."""
        self.port.log.exception("Error in ASGI application")
        self.hand.inline = None
        self.refuse(500, "Internal Server Error")
        self._stir()

    def _go_on(self) -> None:
        """Once a request is answered."""
        port, timer = self.port, self._idle_timer
        timer.since_s = port.loop.time()
        if not timer.runs and not self.closed:
            timer.start()
        if self.hand.reader.unread:
            self._plan()
        elif self.half_closed:
            self.close_if_answered()
        if not port.alive:
            port.connections.stirred()

    # -- CALLED: see `AnsweredClient` --------------------------------------------------------------------------------
    def settle(self, call: AsgiCall) -> None:
        hand, intake = self.hand, call.intake
        if call.over:
            hand.tasks.pop(call, None)
        if call is not hand.call:
            self._go_on()
        elif call.over or (call.answered and intake.whole and not intake.held):
            hand.call, self.answer_begun = None, False
            if call.closes or not (call.answered and intake.whole and self.port.alive):
                self.close()
            self._go_on()

    def taken(self, call: AsgiCall) -> None:
        self.hold(self.hand.held_bytes)
        if call.answered:
            self.settle(call)

    def refuse(self, status: int, why: str) -> None:
        """Close, and say why, unless an answer has begun: a second status in its midst would be read as content."""
        if not self.answer_begun:
            self.write(refusal(status, why))
        self.close()

    # -- while the server stops: have it look again whether it still waits for this connection ------------------------
    def resume_writing(self) -> None:
        super().resume_writing()
        self._stir()

    def _write_frames(self, data: bytes) -> None:
        self.write(data)
        self._stir()

    def _stir(self) -> None:
        if not self.port.alive:
            self.port.connections.stirred()

    # -- its end -----------------------------------------------------------------------------------------------------
    def close_if_answered(self) -> None:
        """Close a half-closed connection whose client has all its answers."""
        if self.half_closed and not self.closed and not self.hand.unanswered:
            self.close()

    def _close_if_idle(self) -> None:
        if not self.at_work and self.hand.framed is None:  # frames are the client's to close
            self.close()

    def eof_received(self) -> bool:
        """Its client sends no more. True keeps the connection until all requests that came whole are answered: never
        over TLS, where the event loop closes the transport whatever is said here."""
        self.half_closed = True
        if self.scopes.over_tls or not self.hand.unanswered:
            return False
        self.port.half_closed.watch(self)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        hand = self.hand
        self.closed, hand.reader.unread = True, b""
        self._idle_timer.end()
        if self._gone is not None:
            self._gone.set()
        for task in hand.leave():
            cancel_late(self.port.loop, task)
        self.port.half_closed.forget(self)
        self.port.connections.remove(self)
        self.resume_writing()

    # -- what the list of connections asks of it ---------------------------------------------------------------------
    @property
    def at_work(self) -> bool:
        """Whether an answer is due, or has bytes that the system has not taken: a stop would lose either."""
        return self.hand.at_work or self.hand.planned or self.transport.get_write_buffer_size() > 0

    @property
    def idle(self) -> bool:
        """Whether nothing has come that is not answered, and no answer is left to be sent. A new one is not idle."""
        hand = self.hand
        if not hand.requests and self.port.loop.time() - self._idle_timer.since_s < NEW_S:
            return False
        return not (hand.reader.unread or self.closed or hand.framed is not None or self.at_work)

    def stage(self) -> Stage:
        return Stage.at_rest() if self.reading_paused else self.hand.stage()
