"""Replays: against a plain server with the answers of a test, and against a real endpoint."""

import csv
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

import torpor
from tests.helpers.ledger_with_pages import NOON_S, LedgerWithPages, invocation
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.calling.connection import EndpointConnection
from torpor.errors import EndpointUnreachable, TorporError
from torpor.replay.paced_sending import ReplayPace, ReplayTally, replay
from torpor.replay.replay_result import UNKNOWN, Replayed
from torpor.replay.target import Target
from torpor.workloads import BadTrace, Chunk, Extent, First, LedgerFile, Recorded, recorded

Reply = tuple[int, Mapping[str, str]]
Answer = Callable[[str], Reply | None]

FINE: Reply = (200, {"Server-Timing": "predict;dur=1.000, overhead;dur=0.500"})
COLD: Reply = (200, {"Server-Timing": "queue;dur=0.000, download;dur=3.000, load;dur=20.000, predict;dur=1.000"})
PACE = ReplayPace()
WITHIN_S = 60.0
ROW = ",".join(map(str, ROWS[0])).encode()


@contextmanager
def served(answer: Answer) -> Iterator[EndpointConnection]:
    """A server that answers by the target model; where there is no answer, it hangs up."""

    class Invocations(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            model = self.headers.get("X-Amzn-SageMaker-Target-Model", "").encode("latin-1").decode()
            reply = answer(model)
            if reply is None:
                self.close_connection = True
                return
            status, headers = reply
            self.send_response(status)
            for name, value in {"Content-Length": "0", **headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *what: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Invocations) as server:
        serving = Thread(target=server.serve_forever, args=(0.01,))  # how often it looks whether to end
        serving.start()
        try:
            yield EndpointConnection(f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            serving.join()


def body(model: str, request_bytes: int | None) -> tuple[str, bytes]:
    return "text/csv", ROW


def replayed(answer: Answer, *models: str, pace: ReplayPace = PACE) -> Replayed:
    """All of them are due at once."""
    with served(answer) as connection:
        return replay(recorded([(0.0, model) for model in models]), Target(connection, "shared"), body, pace)


def noting(named: list[str]) -> Answer:
    def answer(model: str) -> Reply:
        named.append(model)
        return FINE

    return answer


# -- when ----------------------------------------------------------------------------------------------------------
def test_each_request_is_sent_when_its_time_has_come() -> None:
    trace = recorded([(100.0, "a"), (100.1, "b"), (100.1, "a"), (100.4, "a")])
    with served(lambda model: FINE) as connection:
        done = replay(trace, Target(connection, "shared"), body, ReplayPace(speed=4.0))
    assert done.planned_s.tolist() == pytest.approx([0.0, 0.025, 0.025, 0.1])
    assert [done.names[model] for model in done.models] == ["a", "b", "a", "a"]
    assert (done.sent_s >= done.planned_s).all()
    assert (done.done_s > done.sent_s).all()
    assert done.wall_s == done.done_s.max() >= 0.1
    assert 0.0 <= done.late_s(0.5) <= done.late_s(0.99) <= done.late_s(1.0) < WITHIN_S


def test_a_ledger_is_read_by_whichever_thread_has_the_turn(tmp_path: Path) -> None:
    written = LedgerWithPages(tmp_path)
    for second in range(200):
        written.ledger.invoked(invocation(NOON_S + second, model="ab"[second % 2]))
    written.ledger.close()
    with served(lambda model: FINE) as connection:
        done = replay(LedgerFile(tmp_path / "ledger.sqlite"), Target(connection, "shared"), body, ReplayPace(1_000, 4))
    assert done.counts == {"200": 200}


def test_a_slow_answer_does_not_delay_the_next_request() -> None:
    came = Event()

    def answer(model: str) -> Reply:
        """The slow one waits for the one after it."""
        if model == "next":
            came.set()
        return FINE if came.wait(WITHIN_S) else (500, {})

    done = replayed(answer, "slow", "next", pace=ReplayPace(in_flight_max=2))
    assert done.counts == {"200": 2}
    assert done.in_flight_most == 2


def test_requests_held_back_by_the_limit_are_sent_late_and_counted() -> None:
    done = replayed(lambda model: FINE, "a", "b", "c", pace=ReplayPace(in_flight_max=1))
    assert (len(done), done.failed, done.in_flight_most) == (3, 0, 1)
    assert (done.sent_s[1:] >= done.done_s[:-1]).all()
    assert done.late_s(1.0) == done.sent_s[2] >= done.done_s[1]


@pytest.mark.parametrize("speed", [0.0, -1.0, np.nan])
def test_a_speed_that_is_none_is_refused(speed: float) -> None:
    with pytest.raises(BadTrace, match="speed is more than 0"):
        replayed(lambda model: FINE, "a", pace=ReplayPace(speed))


def test_a_limit_of_zero_requests_in_flight_is_refused() -> None:
    with pytest.raises(TorporError, match="in_flight_max is 1 or more, not 0"):
        ReplayPace(in_flight_max=0)


# -- what is sent --------------------------------------------------------------------------------------------------
def test_the_body_is_made_for_the_model_and_its_size() -> None:
    asked = []

    def sized(model: str, request_bytes: int | None) -> tuple[str, bytes]:
        asked.append((model, request_bytes))
        return "application/octet-stream", bytes(request_bytes or 0)

    trace = Recorded(["a", "b"], [Chunk(np.zeros(2), np.array([1, 0], np.int32), np.array([7, 9]))])
    with served(lambda model: FINE) as connection:
        assert replay(trace, Target(connection, "shared"), sized).counts == {"200": 2}
    assert asked == [("b", 7), ("a", 9)]


def test_the_model_is_the_target_as_boto3_sends_it() -> None:
    named: list[str] = []
    done = replayed(noting(named), "Zürich.tar.gz", "two\nlines")
    assert named == ["Zürich.tar.gz"]
    assert done.counts == {"200": 1, "ValueError": 1}


def test_a_single_model_endpoint_is_called_without_a_target() -> None:
    named: list[str] = []
    with served(noting(named)) as connection:
        replay(recorded([(0.0, "a")]), Target(connection, "shared", multi_model=False), body)
    assert named == [""]


def test_the_callers_own_fault_ends_the_replay() -> None:
    def lacking(model: str, request_bytes: int | None) -> tuple[str, bytes]:
        raise KeyError(model)

    with served(lambda model: FINE) as connection, pytest.raises(KeyError, match="a"):
        replay(recorded([(0.0, "a"), (3600.0, "b")]), Target(connection, "shared"), lacking)


# -- what came back ------------------------------------------------------------------------------------------------
def test_failures_are_counted_by_kind_and_the_replay_continues() -> None:
    replies: dict[str, Reply | None] = {
        "gone": (400, {"x-amzn-errortype": "ValidationError:"}),
        "broken": (424, {"x-amzn-errortype": "ModelError:"}),
        "huge": (413, {}),
        "lost": None,
        "fine": FINE,
    }
    done = replayed(lambda model: replies[model], "gone", "lost", "broken", "fine", "fine", "huge")
    assert done.counts == {
        "200": 2,
        "400 ValidationError": 1,
        "424 ModelError": 1,
        "413": 1,
        "RemoteDisconnected": 1,
    }
    assert done.failed == 4
    assert done.statuses.tolist() == [400, 0, 424, 200, 200, 413]
    assert done.latency_s(1.0) == (done.done_s - done.sent_s)[3:5].max()
    assert done.latency_s(0.5, "413") == done.done_s[5] - done.sent_s[5]


def test_the_answers_headers_say_which_requests_were_cold() -> None:
    waiting = (200, {"Server-Timing": "hold;dur=900.000, predict;dur=1.000"})
    foreign = (200, {"Server-Timing": "cdn-cache;desc=HIT, edge;dur=1.2.3"})
    replies = {"fine": FINE, "cold": COLD, "held": waiting, "foreign": foreign, "silent": (200, {})}
    done = replayed(lambda model: replies[model], *replies)
    assert done.hits.tolist() == [1, 0, 1, UNKNOWN, UNKNOWN]
    assert done.cold.tolist() == [False, True, True, False, False]
    assert done.timed.tolist() == [True, True, True, False, False]
    assert done.cold_share() == done.cold_share("200") == pytest.approx(2 / 3)
    assert done.steps_s[1].tolist() == pytest.approx([0, 0, 0, 0.003, 0, 0.02, 0.001, 0, 0])


def test_an_endpoint_unreachable_at_the_start_is_an_error_at_once() -> None:
    with pytest.raises(EndpointUnreachable, match=r"http://127.0.0.1:9 .*torpor up"):
        replay(recorded([(3600.0, "a")]), Target(EndpointConnection("http://127.0.0.1:9"), "shared"), body)


# -- ended before its end ------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_the_sending_and_keeps_what_was_done() -> None:
    def once_done(tally: ReplayTally) -> None:
        if tally.done == tally.sent == 1:
            signal.raise_signal(signal.SIGINT)

    with served(lambda model: COLD) as connection:
        trace = recorded([(0.0, "a"), (3600.0, "b")])
        done = replay(trace, Target(connection, "shared"), body, ReplayPace(), once_done)
    assert (len(done), done.interrupted, done.unanswered) == (1, True, 0)
    assert done.names[done.models[0]] == "a"


@pytest.mark.usefixtures("interruptible")
def test_a_second_ctrl_c_ends_the_waiting() -> None:
    released = Event()

    def once_sent(tally: ReplayTally) -> None:
        if tally.sent == 2 and tally.done == 1:
            signal.raise_signal(signal.SIGINT)

    def answer(model: str) -> Reply:
        return FINE if model == "a" or released.wait(WITHIN_S) else (500, {})

    with served(answer) as connection:
        done = replay(recorded([(0.0, "a"), (0.0, "b")]), Target(connection, "shared"), body, ReplayPace(), once_sent)
        released.set()
    assert (len(done), done.interrupted, done.unanswered) == (1, True, 1)


# -- kept ----------------------------------------------------------------------------------------------------------
def test_rows_are_kept_as_a_frame_and_as_csv(tmp_path: Path) -> None:
    done = replayed(lambda model: COLD if model == "a" else None, "a", "b")
    frame = done.frame()
    done.write(tmp_path / "replayed.csv")
    with (tmp_path / "replayed.csv").open() as file:
        first, second = csv.DictReader(file)
    assert frame["model"].tolist() == ["a", "b"] == [first["model"], second["model"]]
    assert frame["outcome"].tolist() == ["200", "RemoteDisconnected"]
    assert frame["cold"].isna().tolist() == [False, True]
    assert (first["hit"], first["cold"], first["load_s"], first["status"]) == ("False", "True", "0.02", "200")
    assert (second["hit"], second["cold"], second["load_s"], second["status"]) == ("", "", "", "0")
    assert float(first["sent_s"]) == frame["sent_s"][0]
    assert abs(frame["at"][0].timestamp() - done.began_at_s - done.sent_s[0]) < 1e-3


def test_only_the_first_requests_of_a_trace_are_read() -> None:
    def chunk(*times_s: float) -> Chunk:
        return Chunk(np.array(times_s), np.arange(len(times_s), dtype=np.int32), np.ones(len(times_s), np.int64))

    trace = Recorded(["a", "b", "never"], [chunk(5.0, 6.0), chunk(7.0, 8.0, 9.0)])
    assert Extent.of(First(trace, 3)) == Extent(3, ["a", "b"])
    assert Extent.of(First(trace, 2)) == Extent(2, ["a", "b"])
    assert Extent.of(First(trace, 99)) == Extent(5, ["a", "b", "never"])
    assert [len(part.request_bytes) for part in First(trace, 3).chunks() if part.request_bytes is not None] == [2, 1]


# -- a real endpoint -----------------------------------------------------------------------------------------------
def test_a_replay_and_the_ledger_agree_on_the_cold_requests(endpoint: torpor.Local, models: Path) -> None:
    new = [endpoint.put(models / city, f"replayed/{city}") for city in CITIES]
    target = Target.found(EndpointConnection(endpoint.url), endpoint.name)
    trace = recorded([(0.1 * turn, model) for turn in range(2) for model in new] + [(0.2, "replayed/nowhere.tar.gz")])
    first = replay(trace, target, body, ReplayPace(speed=2.0))
    kept = endpoint.cold_starts(last_s=time.time() - first.began_at_s + 60.0)
    kept = kept[kept["model"].str.startswith("replayed/")]
    assert first.counts == {"200": 12, "400 ValidationError": 1}
    assert {first.names[model] for model in first.models[first.hits == 0]} == {*new, "replayed/nowhere.tar.gz"}
    assert sorted(first.frame().loc[first.cold, "model"]) == sorted(kept["model"])
    assert (first.done_s - first.sent_s).max() >= kept["total_s"].max()
    again = replay(recorded((0.0, model) for model in new), target, body)
    assert (again.hits.tolist(), again.cold_share()) == ([1] * len(new), 0.0)
