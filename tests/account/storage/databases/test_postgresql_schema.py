"""One endpoint at a time uses a PostgreSQL database, also where connections break."""

import asyncio
from itertools import count
from typing import Any

import pytest

from tests.account.helpers.postgresql_server import PostgresqlServer
from tests.account.storage.databases.test_database import INSERT, PART
from tests.helpers.ports import free_port
from tests.helpers.waiting import soon, until
from torpor_account.core.outages.lease_proof import GIVEN_UP_LOOKS, LeaseProof
from torpor_account.core.outages.loop_pulse import LoopPulse
from torpor_account.storage.databases.database import Database, DatabaseFault, DatabaseInUse, OutcomeUnknown

psycopg = pytest.importorskip("psycopg")
LEASE_LOOKS = 20


def connected(database_url: str, taken_over: list[str] | None = None, patience_s: float = 0.0) -> Database:
    from torpor_account.storage.databases.postgresql_schema import PostgresqlSchema

    return PostgresqlSchema(
        database_url, PART, lambda: (taken_over if taken_over is not None else []).append("x"), patience_s
    )


def broken(database_url: str) -> None:
    """End every connection to the database but this one, as the server does with a machine that is gone."""
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
        until(lambda: not connection.execute(f"SELECT pid {others}").fetchall(), 60)  # it ends them a moment later


def test_a_second_endpoint_is_refused_until_the_first_ends(database_url: str) -> None:
    first = connected(database_url)
    with pytest.raises(DatabaseInUse, match=r"torpor_words.*stop it"):
        connected(database_url)
    first.close()
    connected(database_url, patience_s=5.0).close()


def test_a_connection_that_broke_at_rest_is_made_again_before_a_write(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torpor_account.storage.databases.postgresql_schema.IDLE_S", 0.0)
    database = connected(database_url)
    before = database.changes
    broken(database_url)
    assert database.changed(INSERT, "kept", 1, None, None)
    assert database.changes > before + 1  # whoever has a copy reads it again
    broken(database_url)
    with database.transaction():
        database.changed(INSERT, "second", 2, None, None)
    assert len(database.rows("SELECT * FROM words")) == 2
    database.close()


def torn(database: Database, database_url: str) -> None:
    with database.transaction():
        database.changed(INSERT, "lost", 1, None, None)
        broken(database_url)
        database.changed(INSERT, "too", 2, None, None)


def test_a_transaction_whose_connection_breaks_fails_whole(database_url: str) -> None:
    database = connected(database_url)
    with pytest.raises(DatabaseFault):
        torn(database, database_url)
    assert soon(lambda: database.changed(INSERT, "kept", 3, None, None))
    assert database.rows("SELECT word FROM words") == [("kept",)]
    database.close()


def unanswered(database: Database, database_url: str) -> None:
    with database.transaction():
        database.changed(INSERT, "perhaps", 1, None, None)
        broken(database_url)


def test_a_connection_that_breaks_at_the_commit_leaves_the_outcome_unknown(database_url: str) -> None:
    database = connected(database_url)
    with pytest.raises(OutcomeUnknown):
        unanswered(database, database_url)
    assert soon(lambda: database.changed(INSERT, "kept", 3, None, None))
    database.close()


def test_a_connection_that_finds_the_lock_taken_says_what_to_do(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = connected(database_url)
    broken(database_url)
    monkeypatch.setattr("torpor_account.storage.databases.postgresql_schema.TRY_LOCK", "SELECT false")
    monkeypatch.setattr("torpor_account.storage.databases.postgresql_schema.IDLE_S", 0.0)
    with pytest.raises(DatabaseInUse, match=r"within about 15 s; if not, end it with pg_terminate_backend"):
        database.rows("SELECT 1")
    database.close()


def test_an_endpoint_that_was_taken_over_is_told_and_writes_no_more(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torpor_account.storage.databases.postgresql_schema.IDLE_S", 0.0)
    told: list[str] = []
    first = connected(database_url, told)
    broken(database_url)
    second = connected(database_url)
    with pytest.raises(DatabaseFault):
        first.changed(INSERT, "stale", 1, None, None)
    assert told == ["x"]
    assert second.rows("SELECT * FROM words") == []
    first.close()
    second.close()


def test_while_the_server_is_away_calls_fail(postgresql: PostgresqlServer, database_url: str) -> None:
    database = connected(database_url)
    postgresql.stop()
    try:
        for _ in range(3):
            with pytest.raises(DatabaseFault, match="torpor_words"):
                database.rows("SELECT 1")
    finally:
        postgresql.start()

    def answers() -> bool:
        try:
            return database.rows("SELECT 1") == [(1,)]
        except DatabaseFault:
            return False

    assert soon(answers, within_s=60)
    assert database.changed(INSERT, "kept", 1, None, None)
    database.close()


def test_a_name_with_the_character_zero_is_found_again(database_url: str) -> None:
    database = connected(database_url)
    assert database.changed(INSERT, "a\0b", 1, None, None)
    assert database.rows("SELECT n FROM words WHERE word = ?", "a\0b") == [(1,)]
    database.close()


def test_a_server_that_cannot_be_reached_is_told_in_one_line() -> None:
    from torpor_account.storage.databases.postgresql_connection import fault

    assert "refused" in (fault(f"postgresql://torpor@127.0.0.1:{free_port()}/torpor") or "")
    assert "No such file" in (fault("postgresql://torpor@/torpor?host=/nowhere") or "")


HEARTBEAT = "torpor_account.storage.databases.postgresql_heartbeat.BEAT_S"
SCHEMA = "torpor_account.storage.databases.postgresql_schema"


def stands_by(database_url: str) -> Database:
    from torpor_account.storage.databases.postgresql_schema import PostgresqlSchema

    return PostgresqlSchema(database_url, PART, lambda: None, standby=True)


def beats(database_url: str) -> int:
    with psycopg.connect(database_url, autocommit=True) as connection:
        (number,) = connection.execute("SELECT beats FROM torpor_words.torpor_state").fetchone() or (0,)
        return int(number)


def test_a_standby_waits_while_the_other_beats_and_takes_over_once_it_is_given_up(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, looks = connected(database_url), 0

    def pause(seconds: float) -> None:
        """Each look of the standby sees another beat, until the first endpoint ends."""
        nonlocal looks
        looks += 1
        if looks < 3 * LEASE_LOOKS:
            with psycopg.connect(database_url, autocommit=True) as connection:
                connection.execute("UPDATE torpor_words.torpor_state SET beats = beats + 1")
        elif looks == 3 * LEASE_LOOKS:
            assert first.changed(INSERT, "its own still", 1, None, None)
            first.close()

    monkeypatch.setattr(f"{SCHEMA}.sleep", pause)
    second = stands_by(database_url)
    assert 3 * LEASE_LOOKS <= looks < 4 * LEASE_LOOKS  # the server may notice later that the first one is gone
    assert second.rows("SELECT word FROM words") == [("its own still",)]
    second.close()


@pytest.mark.parametrize("standby", [True, False])
def test_an_endpoint_that_is_frozen_loses_its_lock_and_what_it_had_begun(
    database_url: str, monkeypatch: pytest.MonkeyPatch, standby: bool
) -> None:
    monkeypatch.setattr(HEARTBEAT, 3600.0)
    monkeypatch.setattr(f"{SCHEMA}.LOOK_S", 0.01)
    told: list[str] = []
    first = connected(database_url, told)
    second: list[Database] = []

    def frozen_in_between() -> None:
        with first.transaction():
            first.changed(INSERT, "half done", 1, None, None)
            second.append(stands_by(database_url) if standby else connected(database_url, patience_s=60.0))
            first.changed(INSERT, "too late", 2, None, None)

    with pytest.raises(DatabaseFault):
        frozen_in_between()
    with pytest.raises(DatabaseFault):
        soon(lambda: first.changed(INSERT, "later still", 3, None, None))
    assert told == ["x"]
    assert second[0].rows("SELECT word FROM words") == []
    second[0].close()


def test_an_endpoint_that_goes_on_after_another_took_over_is_told_by_its_next_beat(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HEARTBEAT, 0.01)
    told: list[str] = []
    first = connected(database_url, told)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE torpor_words.torpor_state SET holder = 'another'")
    assert until(lambda: told) == ["x"]
    first.close()


def test_an_endpoint_whose_loop_hangs_loses_its_lock_and_ends(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torpor_account.storage.databases.postgresql_schema import PostgresqlSchema

    monkeypatch.setattr(HEARTBEAT, 0.01)
    pulse, told = LoopPulse(looks=2), list[str]()
    first = PostgresqlSchema(database_url, PART, lambda: told.append("x"), pulse=pulse)
    before = beats(database_url)
    assert soon(lambda: beats(database_url) > before)  # its loop has not begun
    pulse.turn()  # and then it turns no more
    second = stands_by(database_url)
    assert until(lambda: told) == ["x"]
    first.close()
    second.close()


def test_a_loop_that_goes_on_has_its_beats_again(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from torpor_account.storage.databases.postgresql_heartbeat import HUNG, turn
    from torpor_account.storage.databases.postgresql_schema import PostgresqlSchema

    monkeypatch.setattr(HEARTBEAT, 0.01)
    pulse, said = LoopPulse(looks=2), list[str]()
    monkeypatch.setattr("torpor_account.storage.databases.postgresql_heartbeat.log.critical", said.append)
    first = PostgresqlSchema(database_url, PART, lambda: pytest.fail("nobody takes it over"), pulse=pulse)
    pulse.turn()
    assert soon(lambda: said == [HUNG])
    stands = beats(database_url)

    async def turning() -> None:
        task = asyncio.create_task(turn(pulse, LeaseProof(), asyncio.sleep))
        await asyncio.to_thread(until, lambda: beats(database_url) > stands)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(turning())
    rests = beats(database_url)
    assert soon(lambda: beats(database_url) > rests)  # a process that ends has no loop
    first.close()


def test_an_endpoint_beats_again_after_a_connection_that_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from torpor_account.storage.databases.postgresql_heartbeat import Heartbeat

    monkeypatch.setattr(HEARTBEAT, 0.01)
    tries: list[str] = []

    def connected_never() -> Any:
        tries.append("x")
        raise DatabaseFault("torpor may not make schemas")

    heart = Heartbeat(connected_never, "mine", lambda: None, LoopPulse(), LeaseProof())
    assert soon(lambda: len(tries) > 2)
    heart.close()


def test_a_standby_goes_on_waiting_while_the_server_is_away(
    postgresql: PostgresqlServer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both lose their connections. The endpoint that serves beats again, and the standby leaves the lock to it."""
    first, looks = connected(database_url), 0

    def pause(seconds: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            postgresql.stop()
        elif looks == 6:
            postgresql.start()
            before = beats(database_url)
            until(lambda: beats(database_url) > before)
            assert soon(lambda: wrote(first))
            first.close()

    monkeypatch.setattr(f"{SCHEMA}.sleep", pause)
    second = stands_by(database_url)
    assert looks >= 6
    assert second.rows("SELECT word FROM words") == [("kept",)]
    second.close()


def test_a_standby_starts_where_the_server_is_away(
    postgresql: PostgresqlServer, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{SCHEMA}.sleep", lambda seconds: postgresql.start())
    postgresql.stop()
    second = stands_by(database_url)
    assert second.rows("SELECT word FROM words") == []
    second.close()


def test_an_endpoint_knows_whether_another_waits_by_the_beats_that_arrive(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torpor_account.storage.databases.postgresql_schema import PostgresqlSchema

    monkeypatch.setattr(HEARTBEAT, 0.01)
    told: list[bool] = []

    class ToldProof(LeaseProof):
        def proved(self, waits: bool) -> None:
            told.append(waits)

    def pause(seconds: float) -> None:
        """What waits looks again once the first endpoint knows of it."""
        assert soon(lambda: told[-1])
        first.close()

    first = PostgresqlSchema(database_url, PART, lambda: None, proof=ToldProof())
    assert soon(lambda: told)
    assert not any(told)
    monkeypatch.setattr(f"{SCHEMA}.sleep", pause)
    second = PostgresqlSchema(database_url, PART, lambda: None, standby=True, proof=ToldProof())
    told.clear()
    assert soon(lambda: told)
    assert not any(told)  # it waits no longer itself
    second.close()


def test_a_loop_gives_the_lease_up_where_no_beat_arrives_and_another_waits() -> None:
    from torpor_account.storage.databases.postgresql_heartbeat import turn

    async def pause(seconds: float) -> None:
        await asyncio.sleep(0)

    told: list[str] = []
    proof = LeaseProof()
    proof.proved(waits=True)
    asyncio.run(turn(LoopPulse(), proof, pause, lambda: told.append("x")))
    assert told == ["x"]


def test_a_loop_whose_process_need_not_end_turns_on_although_no_beat_arrives(caplog: pytest.LogCaptureFixture) -> None:
    from torpor_account.storage.databases.postgresql_heartbeat import turn

    class Over(Exception):
        pass

    async def pause(seconds: float) -> None:
        if next(pauses) > 2 * GIVEN_UP_LOOKS:
            raise Over

    pauses, proof = count(), LeaseProof()
    proof.proved(waits=True)
    with pytest.raises(Over):
        asyncio.run(turn(LoopPulse(), proof, pause))
    assert proof.is_given_up
    assert not caplog.records


def wrote(database: Database) -> bool:
    try:
        return database.changed(INSERT, "kept", 1, None, None)
    except DatabaseFault:
        return False
