"""The machine of one request as values: which containers get what, what follows each event, and what the books say."""

import json
from collections.abc import Mapping, Sequence
from itertools import count

import pytest

from torpor_account.core.outages.waiting import pause_s
from torpor_container import wire
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.placement import BUSY_MIN, Placement
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.core.routing.ready_slots import PlacedInstance
from torpor_endpoint.core.routing.session_names import with_holder
from torpor_endpoint.core.sending.machine import (
    ACCEPT,
    CONTENT_TYPE,
    CUSTOM_ATTRIBUTES,
    END,
    FAULT,
    HOLD,
    ONLY_LOADED,
    SEND,
    SESSION_ID,
    TARGET_MODEL,
    VERSION_WANTED,
    Sending,
    SendingFailure,
    SendingRules,
)
from torpor_endpoint.core.sending.session_holders import NEW_SESSION
from torpor_endpoint.core.sending.trail import Headers, Trail, lacked_room
from torpor_endpoint.core.sessions import SessionHolder, StatefulSessions
from torpor_endpoint.telemetry.trace_context import SAMPLED, TRACEPARENT, RequestTrace

INFERENCE_ID = wire.INFERENCE_ID.lower().encode()
NAMES = ("before", "models", "after")
CONTAINERS = tuple(Container("torpor", name=name, multi_model=name == "models") for name in NAMES)
IMPATIENT = SendingRules()
CALLER = {CONTENT_TYPE: b"text/csv", ACCEPT: b"text/plain", CUSTOM_ATTRIBUTES: b"mine", INFERENCE_ID: b"7"}


class Instance(PlacedInstance):
    """One instance: its containers that have ended, whether it drains, and who lacked memory."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.in_flight = 0
        self.ended: set[int] = set()
        self.draining = False
        self.lacked: list[int] = []


class Names:
    """Names a neighbour with the first call of each model."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []

    def first_call(self, model: str, instance: Instance) -> tuple[bytes, bytes] | None:
        if (model, instance.number) in self.told:
            return None
        self.told.append((model, instance.number))
        return b"x-torpor-neighbours", b"%d" % instance.number


class Instances:
    """The instances of a variant, as the machine sees them."""

    def __init__(self, number: int = 1) -> None:
        self.all = [Instance(at) for at in range(number)]
        self.ready: Placement[Instance] = Placement()
        self.sessions = StatefulSessions()
        self.names_holders = False
        self.neighbours: Names | None = None
        for one in self.all:
            self.ready.offer(one.number, one)

    def released(self, instance: Instance) -> None:
        instance.answered()

    def suspect(self, instance: Instance) -> None:
        self.ready.withdraw(instance.number)

    def goes_on(self, instance: Instance, container: int) -> bool:
        offered = self.ready.get(instance.number) is instance
        return container not in instance.ended and (instance.draining or offered)

    def lacked_room(self, instance: Instance, container: int) -> None:
        instance.lacked.append(container)

    def holder(self, instance: Instance) -> SessionHolder:
        return SessionHolder(instance.number, f"i-{instance.number}")

    @property
    def in_flight(self) -> list[int]:
        return [one.in_flight for one in self.all]


def sending(
    pool: Instances,
    *path: int,
    containers: Sequence[Container] = CONTAINERS,
    rules: SendingRules = IMPATIENT,
    trace: RequestTrace | None = None,
    wants_version: bool = False,
    totals: dict[str, float] | None = None,
    given: Mapping[bytes, bytes] = CALLER,
    target: str = "a.tar.gz",
    key: str | None = "a.tar.gz",
    first: Headers | None = None,
) -> Sending[Instance]:
    """A request with all of the caller's headers, on its way through these containers."""
    trail = None if len(containers) == 1 else Trail(totals={} if totals is None else totals)
    times_s = [10.0 * (at + 1) for at in range(len(containers))]
    way = path or (0, 1, 2)
    return Sending(
        pool, containers, way, times_s, 5.0, given, target, key, [b"x"], rules, trail, wants_version, trace, first
    )


def answer(body: bytes = b"y", *headers: tuple[bytes, bytes], status: int = 200) -> UpstreamAnswer:
    return UpstreamAnswer(status, [(CONTENT_TYPE, b"text/x-new"), *headers], [body])


def timing(text: bytes) -> tuple[bytes, bytes]:
    return wire.SERVER_TIMING.lower().encode(), text


# -- what each container gets ------------------------------------------------------------------------------------------
def test_one_container_gets_the_caller_s_headers_and_leaves_no_trail() -> None:
    sent = sending(Instances(), 0, containers=CONTAINERS[:1])
    assert (sent.ready(1.0), sent.container, sent.body, sent.timeout_s) == (SEND, 0, [b"x"], 15.0)
    assert dict(sent.headers) == CALLER
    came = answer()
    assert sent.answered(came, 1.25) == END
    assert (sent.answer, sent.failure, sent.took_s, sent.trail) == (came, None, 0.25, None)


def test_the_container_gets_the_contract_s_headers_and_no_others() -> None:
    forwarded = {name.lower().encode(): b"text/csv" for name in wire.FORWARDED}
    given = {**forwarded, TARGET_MODEL: b"/a.tar.gz", FAULT: b"no-room", b"cookie": b"secret"}
    many = (Container("torpor", multi_model=True),)
    sent = Sending(Instances(), many, (0,), [1.0], 0.0, given, "a.tar.gz", "a.tar.gz", [b"x"], SendingRules(), None)
    assert sent.headers == [*forwarded.items(), (TARGET_MODEL, b"a.tar.gz")]


def test_a_like_request_is_sent_with_the_headers_that_the_first_one_got() -> None:
    pool = Instances()
    first = sending(pool, 1)
    second = sending(pool, 1, first=first.headers)
    assert second.headers is first.headers
    for name in ("step", "container", "body", "timeout_s"):
        assert getattr(second, name) == getattr(first, name)
    assert (second.ready(1.0), second.place, second.timeout_s) == (SEND, "models", 25.0)


def test_a_target_that_begins_as_no_header_may_is_told_behind_a_slash() -> None:
    assert [dict(sending(Instances(), 1, target=one).headers)[TARGET_MODEL] for one in ("/a", "a/b", " a", "b")] == [
        b"//a", b"a/b", b"/ a", b"b"
    ]  # fmt: skip


def test_each_container_of_a_pipeline_gets_the_answer_before_it_and_the_last_one_the_accept() -> None:
    sent = sending(Instances())
    sent.ready(0.0)
    assert dict(sent.headers) == {CONTENT_TYPE: b"text/csv", CUSTOM_ATTRIBUTES: b"mine", INFERENCE_ID: b"7"}
    came = answer(b"y", (CUSTOM_ATTRIBUTES, b"theirs"))
    assert sent.answered(came, 1.0) == SEND
    assert (sent.body is came.chunks, sent.container, sent.timeout_s) == (True, 1, 25.0)
    assert dict(sent.headers) == {
        CONTENT_TYPE: b"text/x-new",
        CUSTOM_ATTRIBUTES: b"theirs",
        INFERENCE_ID: b"7",
        TARGET_MODEL: b"a.tar.gz",
    }
    assert sent.answered(answer(b"z"), 2.0) == SEND
    assert dict(sent.headers)[ACCEPT] == b"text/plain"
    assert TARGET_MODEL not in dict(sent.headers)
    assert dict(sent.headers)[CUSTOM_ATTRIBUTES] == b"mine", "the container before set none"
    assert sent.answered(answer(b"w"), 3.0) == END


def test_a_container_that_callers_choose_gets_all_of_the_caller_s_headers() -> None:
    sent = sending(Instances(), 2)
    assert (sent.ready(0.0), sent.container, sent.place) == (SEND, 2, "after")
    assert dict(sent.headers) == CALLER
    assert sent.answered(answer(), 1.0) == END


def test_each_container_of_a_traced_request_gets_the_headers_of_its_place() -> None:
    sent = sending(Instances(), trace=RequestTrace(7, 8, SAMPLED, None, b"", b"", count(9).__next__))
    spans = []
    for _ in range(2):
        spans.append(dict(sent.headers)[TRACEPARENT].split(b"-")[2])
        sent.ready(0.0)
        sent.answered(answer(), 0.0)
    assert spans == [b"0000000000000009", b"000000000000000a"]


def test_the_container_with_many_models_tells_the_version_of_the_model_if_it_is_wanted() -> None:
    sent, asked = sending(Instances(), wants_version=True), []
    for _ in NAMES:
        asked.append(VERSION_WANTED in sent.headers)
        sent.ready(0.0)
        sent.answered(answer(), 0.0)
    assert asked == [False, True, False]


def test_of_containers_with_one_model_each_the_last_one_tells_the_version() -> None:
    one_each = tuple(Container("torpor", name=name) for name in NAMES)
    sent, asked = sending(Instances(), containers=one_each, wants_version=True), []
    for _ in NAMES:
        asked.append(VERSION_WANTED in sent.headers)
        sent.ready(0.0)
        sent.answered(answer(), 0.0)
    assert asked == [False, False, True]


# -- what follows ------------------------------------------------------------------------------------------------------
def test_a_request_holds_until_an_instance_is_ready() -> None:
    pool = Instances(0)
    sent = sending(pool)
    assert sent.ready(0.0) == HOLD
    pool.ready.offer(0, Instance(0))
    assert sent.ready(1.0) == SEND


def test_a_request_that_was_never_read_goes_to_another_instance_and_one_that_was_read_ends() -> None:
    pool = Instances(2)
    sent = sending(pool)
    assert sent.ready(0.0) == SEND
    first = sent.instance
    assert sent.refused(0.0) == SEND
    assert sent.instance is not first
    assert (sent.broken(0.0), sent.failure, len(pool.ready)) == (END, SendingFailure.BROKEN, 0)
    sent.let_go()
    assert pool.in_flight == [0, 0]


def test_a_request_whose_first_container_refuses_it_holds_no_instance() -> None:
    pool = Instances()
    sent = sending(pool)
    assert (sent.ready(0.0), sent.acted, pool.in_flight) == (SEND, False, [1])
    assert (sent.refused(0.0), pool.in_flight) == (HOLD, [0])


def test_a_request_that_a_later_container_refuses_keeps_its_instance() -> None:
    pool = Instances()
    sent = sending(pool)
    sent.ready(0.0)
    sent.answered(answer(), 0.0)
    assert (sent.refused(0.0), sent.acted, pool.in_flight) == (HOLD, True, [1])
    pool.ready.offer(0, pool.all[0])
    assert (sent.ready(0.0), sent.container, pool.in_flight) == (SEND, 1, [1]), "it is well again"


def test_requests_of_one_key_meet_and_others_go_where_the_fewest_are() -> None:
    pool = Instances(4)
    for keyed in range(4):
        sending(pool, key="a.tar.gz").ready(0.0)
        assert sorted(pool.in_flight) == [0, 0, 0, keyed + 1]
    for _ in range(3):
        sending(pool, key=None).ready(0.0)
    assert sorted(pool.in_flight) == [1, 1, 1, 4]


def test_a_request_of_a_session_goes_to_its_holder_and_its_container_gets_the_model_s_id() -> None:
    pool = Instances(3)
    for holder in pool.all:
        name = with_holder(b"s", holder.number, pool.holder(holder).incarnation)
        sent = sending(pool, 1, given={**CALLER, SESSION_ID: name})
        assert (sent.ready(0.0), sent.instance) == (SEND, holder)
        assert dict(sent.headers) == {**CALLER, SESSION_ID: b"s", TARGET_MODEL: b"a.tar.gz"}


def test_a_request_of_a_session_whose_holder_has_gone_goes_to_another() -> None:
    pool = Instances(2)
    sent = sending(pool, given={**CALLER, SESSION_ID: with_holder(b"s", 1, "i-before")})
    assert sent.ready(0.0) == SEND
    assert sent.instance is not None


def test_only_a_request_with_a_session_begins_one() -> None:
    pool = Instances()
    for given, remembered in ((CALLER, 0), ({**CALLER, SESSION_ID: b"NEW_SESSION"}, 1)):
        sent = sending(pool, 1, given=given)
        sent.ready(0.0)
        sent.answered(answer(b"y", (NEW_SESSION, b"s")), 0.0)
        assert len(pool.sessions) == remembered


def test_an_instance_that_is_too_slow_is_not_suspected() -> None:
    pool = Instances()
    sent = sending(pool)
    sent.ready(0.0)
    assert (sent.timed_out(9.0), sent.failure, sent.answer, len(pool.ready)) == (END, SendingFailure.TIMED_OUT, None, 1)


@pytest.mark.parametrize("status", [300, 400, 500])
def test_an_answer_that_is_no_success_ends_the_pipeline(status: int) -> None:
    sent = sending(Instances())
    sent.ready(0.0)
    assert sent.answered(answer(status=status), 1.0) == END
    assert (sent.place, sent.failure) == ("before", None)


def test_the_parts_of_a_request_stay_at_one_instance_also_while_it_drains() -> None:
    pool = Instances(2)
    sent = sending(pool)
    sent.ready(0.0)
    kept = sent.instance
    assert kept is not None
    pool.ready.withdraw(kept.number)
    kept.draining = True
    assert (sent.answered(answer(), 0.0), sent.instance) == (SEND, kept)
    kept.ended.add(2)
    assert sent.answered(answer(), 0.0) == SEND
    assert sent.instance is not kept, "its container has ended"
    assert sorted(pool.in_flight) == [0, 1]


FIVE_MIB = 5_242_880


@pytest.mark.parametrize(("rules", "ends"), [(IMPATIENT, False), (SendingRules(strict=True), True)])
def test_only_strict_mode_has_aws_s_limit_between_two_containers(rules: SendingRules, ends: bool) -> None:
    sent = sending(Instances(), rules=rules)
    sent.ready(0.0)
    assert sent.answered(answer(bytes(FIVE_MIB)), 0.0) == SEND
    step = sent.answered(answer(bytes(FIVE_MIB + 1)), 0.0)
    assert (step, sent.failure) == ((END, SendingFailure.HOP_OVERSIZE) if ends else (SEND, None))
    assert sent.place == ("models" if ends else "after")
    assert not ends or sent.following == "after"


PATIENT = SendingRules(patient=True, retries=2, needs_room=True)


@pytest.mark.parametrize("failed", ["broken", "timed_out", 500, 429])
def test_a_patient_request_is_sent_again_from_its_first_container(failed: str | int) -> None:
    sent = sending(Instances(4), rules=PATIENT)

    def fail() -> str:
        if isinstance(failed, int):
            return sent.answered(answer(status=failed), 0.0)
        return str(getattr(sent, failed)(0.0))

    sent.ready(0.0)
    assert sent.answered(answer(), 0.0) == SEND
    for _ in range(PATIENT.retries):
        assert (fail(), sent.container, sent.body) == (SEND, 0, [b"x"])
    assert fail() == END, "no retry is left"


def test_a_patient_request_waits_without_end_while_the_machine_fails() -> None:
    pool = Instances()
    sent = sending(pool, rules=PATIENT)
    away = (FAULT, wire.Fault.MACHINE_FAILED.value.encode())
    for failures in range(1, 9):
        assert sent.ready(0.0) == SEND
        assert sent.answered(answer(), 0.0) == SEND
        assert sent.answered(answer(b"", away, status=503), 0.0) == HOLD
        assert sent.pause_s == pause_s(failures)
        assert (sent.container, sent.body, pool.in_flight) == (0, [b"x"], [0]), "it begins anew, and holds nothing"
    pool.suspect(pool.all[0])
    assert (sent.ready(0.0), sent.pause_s) == (HOLD, 0.0), "it waits for an instance alone"


def test_a_request_that_is_sent_again_is_counted_once() -> None:
    pool = Instances()
    sent = sending(pool, rules=PATIENT)
    sent.ready(0.0)
    for _ in range(PATIENT.retries):
        assert (sent.timed_out(1.0), pool.in_flight) == (SEND, [1])
    sent.timed_out(2.0)
    sent.let_go()
    assert pool.in_flight == [0]


def test_a_request_without_rules_is_no_patient_one() -> None:
    assert SendingRules() == (False, False, 0, False)


def test_a_request_that_needs_room_is_never_one_too_many() -> None:
    pool = Instances()
    pool.ready.most = 1
    first, second = sending(pool, rules=PATIENT), sending(pool, rules=PATIENT)
    assert (first.ready(0.0), second.ready(0.0)) == (SEND, HOLD)
    first.let_go()
    assert (second.ready(0.0), pool.in_flight) == (SEND, [1])


# -- the books -----------------------------------------------------------------------------------------------------
def test_the_time_is_that_of_all_containers_and_each_of_them_has_its_own() -> None:
    totals: dict[str, float] = {}
    sent = sending(Instances(), totals=totals)
    miss = (b"x-torpor-model-cache", b"miss")
    sent.ready(0.0)
    sent.answered(answer(b"y", timing(b"load;dur=5, predict;dur=250"), miss), 0.25)
    sent.answered(answer(b"y", timing(b"predict;dur=500")), 0.75)
    last = answer(b"z", timing(b"predict;dur=1000"))
    assert sent.answered(last, 1.75) == END
    assert sent.trail is not None
    assert (sent.took_s, sent.trail.seconds) == (1.75, {"before": 0.25, "models": 0.5, "after": 1.0})
    assert sent.trail.steps == [{"load": 0.005, "predict": 0.25}, {"predict": 0.5}]
    assert totals == {"load": 0.005, "predict": 0.75}, "the last answer's steps are the caller's to take"
    assert miss in last.headers, "the ledger reads it at the end"


def test_a_request_that_begins_anew_forgets_what_its_containers_did() -> None:
    sent = sending(Instances(), rules=PATIENT)
    sent.ready(0.0)
    sent.answered(answer(b"y", timing(b"predict;dur=250"), (b"x-torpor-model-cache", b"miss")), 0.25)
    assert sent.timed_out(1.0) == SEND
    assert sent.trail == Trail(totals={"predict": 0.25}), "the caller has waited for it"


def cold(*victims: str) -> Headers:
    return [(wire.COLD.lower().encode(), json.dumps({"victims": victims}).encode())]


@pytest.mark.parametrize(
    ("answer", "lacked"),
    [
        (UpstreamAnswer(200), False),
        (UpstreamAnswer(200, cold()), False),
        (UpstreamAnswer(200, cold("a.tar.gz")), True),
        (UpstreamAnswer(500), False),
        (UpstreamAnswer(507), True),
    ],
)
def test_a_container_lacked_room_if_a_model_left_or_found_no_memory(answer: UpstreamAnswer, lacked: bool) -> None:
    assert lacked_room(answer) is lacked
    pool = Instances()
    sent = sending(pool)
    sent.ready(0.0)
    sent.answered(answer, 0.0)
    assert pool.all[0].lacked == ([0] if lacked else [])


# -- neighbours --------------------------------------------------------------------------------------------------------
def test_the_first_call_that_an_instance_gets_names_its_neighbours_and_no_like_request_repeats_it() -> None:
    pool = Instances()
    pool.neighbours = names = Names()
    way = sending(pool, 0, containers=CONTAINERS[1:2]).headers
    for expected in ([b"0"], []):
        sent = sending(pool, 0, containers=CONTAINERS[1:2], first=way)
        sent.ready(1.0)
        assert [value for name, value in sent.headers if name == b"x-torpor-neighbours"] == expected
    assert names.told == [("a.tar.gz", 0)]
    assert (b"x-torpor-neighbours", b"0") not in way


def test_of_several_containers_the_one_with_many_models_hears_of_neighbours() -> None:
    pool = Instances(2)
    pool.neighbours = names = Names()
    sent = sending(pool)
    heard = []
    step = sent.ready(0.0)
    while step == SEND:
        heard.append([value for name, value in sent.headers if name == b"x-torpor-neighbours"])
        step = sent.answered(UpstreamAnswer(200), 0.0)
    assert (len(names.told), heard) == (1, [[], [b"%d" % names.told[0][1]], []])


# -- handovers ---------------------------------------------------------------------------------------------------------
def grown() -> tuple[Instances, Instance, Instance]:
    """Instances of which the second has come to take the model over, the former owner, and the newcomer."""
    pool = Instances()
    pool.ready = Placement(hands_over=lambda model, handover: None)
    model, pair = "a.tar.gz", [Instance(0), Instance(1)]
    alone: Placement[Instance] = Placement()
    for one in pair:
        alone.offer(one.number, one)
    newcomer = alone.pick(model)
    former = next(one for one in pair if one is not newcomer)
    pool.all = pair
    pool.ready.offer(former.number, former)
    pool.ready.pick(model)
    pool.ready.offer(newcomer.number, newcomer)
    return pool, former, newcomer


def absent() -> UpstreamAnswer:
    return UpstreamAnswer(404, [(FAULT, b"absent")], [b"gone"])


def test_in_a_pipeline_the_former_owner_s_models_are_asked_whether_they_have_the_model() -> None:
    pool, former, newcomer = grown()
    sent, asked = sending(pool), []
    step = sent.ready(0.0)
    while step == SEND:
        assert sent.instance is former
        asked.append((ONLY_LOADED in sent.headers, sent.resendable))
        step = sent.answered(UpstreamAnswer(200, [], [b"y"]), 0.0)
    assert asked == [(False, False), (True, True), (False, False)]
    assert pool.ready.moving["a.tar.gz"].newcomer is newcomer


def test_a_former_owner_without_the_model_hands_the_leg_on_and_no_container_answers_twice() -> None:
    pool, former, newcomer = grown()
    sent = sending(pool)
    assert (sent.ready(0.0), sent.instance) == (SEND, former)
    assert sent.answered(UpstreamAnswer(200, [(CONTENT_TYPE, b"text/plain")], [b"scaled"]), 0.0) == SEND
    leg = sent.container, sent.body, sent.timeout_s, sorted(one for one in sent.headers if one != ONLY_LOADED)
    assert sent.answered(absent(), 0.0) == SEND
    assert (sent.instance, sent.resendable) == (newcomer, False)
    assert (sent.container, sent.body, sent.timeout_s, sorted(sent.headers)) == leg
    assert not pool.ready.moving
    assert sent.answered(UpstreamAnswer(200, [], [b"predicted"]), 0.0) == SEND
    assert sent.instance is newcomer
    assert sent.answered(UpstreamAnswer(200, [], [b"ranked"]), 0.0) == END
    assert sent.trail is not None
    assert list(sent.trail.seconds) == ["before", "models", "after"]
    sent.let_go()
    assert pool.in_flight == [0, 0]


def test_a_former_owner_is_asked_so_though_its_handover_ends_while_the_request_is_at_a_container_before() -> None:
    pool, former, newcomer = grown()
    sent = sending(pool)
    assert (sent.ready(0.0), sent.instance) == (SEND, former)
    pool.ready.arrived("a.tar.gz", newcomer)
    assert sent.answered(UpstreamAnswer(200, [], [b"scaled"]), 0.0) == SEND
    assert (sent.instance, ONLY_LOADED in sent.headers) == (former, True)
    assert sent.answered(absent(), 0.0) == SEND
    assert (sent.instance, ONLY_LOADED in sent.headers) == (newcomer, False)


def test_a_request_that_its_former_owner_did_not_read_may_be_answered_with_a_load() -> None:
    pool, former, newcomer = grown()
    sent = sending(pool, 1)
    assert (sent.ready(0.0), sent.instance, ONLY_LOADED in sent.headers) == (SEND, former, True)
    assert sent.refused(0.0) == SEND
    assert (sent.instance, ONLY_LOADED in sent.headers, sent.resendable) == (newcomer, False, False)


# -- second copies -----------------------------------------------------------------------------------------------------
def copied() -> tuple[Instances, Instance, Instance]:
    """Instances of which the first is too busy for the model that it owns, and the second has a copy."""
    pool = Instances(2)
    begun: list[Instance] = []
    ready = Placement[Instance](hands_over=lambda model, load: begun.append(load.newcomer))
    for one in pool.all:
        ready.offer(one.number, one)
    pool.ready = ready
    owner = ready.pick("a.tar.gz")
    for _ in range(BUSY_MIN):
        owner.took()
    assert ready.pick("a.tar.gz") is owner
    ready.arrived("a.tar.gz", begun[0])
    return pool, owner, begun[0]


def test_a_copy_that_was_evicted_turns_the_request_away_once_and_the_owner_takes_it() -> None:
    pool, owner, second = copied()
    sent = sending(pool, 1)
    assert (sent.ready(0.0), sent.instance, ONLY_LOADED in sent.headers) == (SEND, second, True)
    assert sent.answered(absent(), 0.0) == SEND
    assert (sent.instance, ONLY_LOADED in sent.headers, sent.resendable) == (owner, False, False)
    assert pool.in_flight == [BUSY_MIN + 1 if one is owner else 0 for one in pool.all]


def test_a_copy_that_breaks_the_connection_leaves_the_request_to_the_owner() -> None:
    pool, owner, second = copied()
    sent = sending(pool, 1)
    assert (sent.ready(0.0), sent.instance) == (SEND, second)
    assert sent.refused(0.0) == SEND
    assert (sent.instance, ONLY_LOADED in sent.headers) == (owner, False)


def test_a_busy_owner_that_lost_the_model_turns_the_request_away_to_where_its_copy_comes() -> None:
    pool, owner, second = copied()
    pool.ready.lacks("a.tar.gz", second)
    sent = sending(pool, 1)
    assert (sent.ready(0.0), sent.instance, ONLY_LOADED in sent.headers) == (SEND, owner, True)
    assert sent.answered(absent(), 0.0) == SEND
    assert (sent.instance, ONLY_LOADED in sent.headers) == (second, False)


def test_a_request_keeps_how_many_the_instance_had_when_it_came_whatever_comes_or_goes_later() -> None:
    pool = Instances()
    line = [sending(pool, 0, containers=CONTAINERS[1:2]) for _ in range(3)]
    assert [one.ready(0.0) for one in line] == [SEND] * 3
    for one in line:
        one.answered(UpstreamAnswer(200), 1.0)
        one.let_go()
    assert [one.requests for one in line] == [1, 2, 3]
