"""How long a client may keep a connection waiting, and how slowly it may send."""

from torpor_container.core.client_timeouts import ClientTimeouts, ConnectionStage, Kind, Stage

PATIENCE = ClientTimeouts(head_s=30.0, body_s=30.0, slow_s=60.0, least_bytes_per_s=500.0)


def looked(waiting: ConnectionStage, *looks: tuple[float, Stage]) -> list[Kind | None]:
    return [waiting.overdue(stage, PATIENCE, at_s) for at_s, stage in looks]


def test_a_head_has_one_time_as_a_whole_however_it_trickles() -> None:
    assert looked(ConnectionStage(), (0, Stage.head(1)), (29, Stage.head(1)), (30, Stage.head(1)))[-1] is Kind.HEAD


def test_a_body_of_which_nothing_comes_is_overdue_and_each_byte_gives_it_time() -> None:
    looks = [(0.0, Stage.body(1, 0)), (29.0, Stage.body(1, 1)), (58.0, Stage.body(1, 1)), (59.0, Stage.body(1, 1))]
    assert looked(ConnectionStage(), *looks) == [None, None, None, Kind.BODY]


def trickled(bytes_per_s: int, until_s: int, began: int = 0) -> list[tuple[float, Stage]]:
    return [(float(at_s), Stage.body(1, bytes_per_s * at_s)) for at_s in range(began, until_s + 1)]


def test_a_body_that_trickles_is_too_slow_after_one_period() -> None:
    verdicts = looked(ConnectionStage(), *trickled(499, 60))
    assert verdicts.index(Kind.SLOW_BODY) == 60


def test_a_body_at_the_least_rate_may_take_for_ever() -> None:
    assert set(looked(ConnectionStage(), *trickled(500, 3600))) == {None}


def test_a_fast_beginning_excuses_no_slow_rest() -> None:
    fast = [(float(at_s), Stage.body(1, 1_000_000 * at_s)) for at_s in range(61)]
    slow = [(60.0 + at_s, Stage.body(1, 60_000_000 + at_s)) for at_s in range(1, 62)]
    assert Kind.SLOW_BODY in looked(ConnectionStage(), *fast, *slow)


def test_time_in_which_the_server_reads_nothing_is_not_the_clients() -> None:
    waiting = ConnectionStage()
    looked(waiting, *trickled(1, 50))
    looked(waiting, (55.0, Stage.at_rest()))
    assert set(looked(waiting, *trickled(1, 110, began=56))) == {None}


def test_the_next_request_has_a_period_of_its_own() -> None:
    waiting = ConnectionStage()
    looked(waiting, *trickled(1, 50))
    assert looked(waiting, (70.0, Stage.body(2, 5)), (71.0, Stage.body(2, 6))) == [None, None]


def test_a_client_that_sends_nothing_has_as_long_as_for_a_head_and_one_that_is_not_waited_for_has_for_ever() -> None:
    silent, rests = ConnectionStage(), ConnectionStage()
    assert looked(silent, (0, Stage.silent()), (29, Stage.silent()), (30, Stage.silent()))[1:] == [None, Kind.SILENT]
    assert set(looked(rests, (0, Stage.at_rest()), (9000, Stage.at_rest()))) == {None}


def test_a_stage_before_a_body_has_received_nothing() -> None:
    assert [Stage.silent(), Stage.head(2)] == [Stage(Kind.SILENT, 0, 0), Stage(Kind.HEAD, 2, 0)]


def test_a_client_has_half_a_minute_for_a_head_and_a_body_s_next_byte() -> None:
    assert ClientTimeouts() == ClientTimeouts(head_s=30.0, body_s=30.0, slow_s=60.0, least_bytes_per_s=500.0)
