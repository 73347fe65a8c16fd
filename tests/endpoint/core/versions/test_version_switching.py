"""When a version takes over from another: not before it is in memory, if the old one is, and never a withdrawn one."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.versions.version_policies import VersionPolicy
from torpor_endpoint.core.versions.version_answers import AnsweringVersions
from torpor_endpoint.core.versions.version_switching import (
    VersionsInMemory,
    plan_versions,
    versions_in,
    wanted_versions,
)

numbers = st.integers(1, 5)
sets = st.frozensets(numbers)
policies = st.one_of(
    st.builds(VersionPolicy, newest=st.integers(1, 3)),
    st.just(VersionPolicy()),
    st.builds(VersionPolicy, only=sets),
)
labels = st.dictionaries(st.sampled_from(["default", "stable", "canary"]), numbers)
memories = st.builds(VersionsInMemory, resident=sets, failed=sets)
steps = st.lists(st.tuples(sets, labels, memories), min_size=1, max_size=5)


def keys(present: frozenset[int]) -> dict[int, str]:
    return {number: f"m/{number}/a.tar" for number in present}


@given(policy=policies, steps=steps)
def test_nothing_answers_by_a_version_that_is_gone_and_no_switch_comes_before_its_load(
    policy: VersionPolicy, steps: list[tuple[frozenset[int], Mapping[str, int], VersionsInMemory]]
) -> None:
    served = AnsweringVersions({})
    for present, labelled, memory in steps:
        there = keys(present)
        plan = plan_versions(served, wanted_versions(there, policy, labelled), there, memory)
        assert set(plan.serve.artifacts) <= present
        assert set(plan.serve.pointers.values()) <= set(plan.serve.artifacts)
        for label, have in served.pointers.items():
            now = plan.serve.pointers.get(label)
            if now not in (None, have) and have in present and have in memory.resident:
                assert now in memory.resident
        served = plan.serve


@given(policy=policies, steps=steps)
def test_it_comes_to_rest_once_what_it_asks_for_is_loaded(
    policy: VersionPolicy, steps: list[tuple[frozenset[int], Mapping[str, int], VersionsInMemory]]
) -> None:
    served = AnsweringVersions({})
    for present, labelled, memory in steps:
        there = keys(present)
        wanted = wanted_versions(there, policy, labelled)
        plan = plan_versions(served, wanted, there, memory)
        loaded = VersionsInMemory({*memory.resident, *plan.load}, memory.failed)
        after = plan_versions(plan.serve, wanted, there, loaded)
        assert not after.load
        assert all(number in memory.failed for number in after.waits.values())
        served = after.serve
        if not after.waits:
            assert served == wanted


@given(present=st.frozensets(numbers, min_size=1), data=st.data())
def test_back_is_immediate_where_the_old_version_is_in_memory(present: frozenset[int], data: st.DataObject) -> None:
    there = keys(present)
    old, new = data.draw(st.sampled_from(sorted(present))), max(present)
    served = wanted_versions(there, VersionPolicy(newest=1), {})
    wanted = wanted_versions(there, VersionPolicy(newest=1), {"default": old})
    plan = plan_versions(served, wanted, there, VersionsInMemory({old, new}))
    assert plan.serve.default == old
    assert not plan.load


def test_the_policy_s_versions_and_those_with_a_label_should_answer() -> None:
    there = keys(frozenset({5, 6, 7, 8}))
    wanted = wanted_versions(there, VersionPolicy(newest=2), {"stable": 5, "gone": 4})
    assert wanted == AnsweringVersions(keys(frozenset({5, 7, 8})), 8, {"stable": 5})
    assert wanted_versions(there, VersionPolicy(newest=2), {"default": 5}).default == 5


def test_a_new_version_is_loaded_beside_and_takes_over_once_it_is_in_memory() -> None:
    there = keys(frozenset({6, 7}))
    served = AnsweringVersions({6: there[6]}, 6)
    wanted = wanted_versions(there, VersionPolicy(newest=1), {})
    plan = plan_versions(served, wanted, there, VersionsInMemory({6}))
    assert (plan.serve.default, plan.load, plan.waits) == (6, (7,), {"default": 7})
    plan = plan_versions(plan.serve, wanted, there, VersionsInMemory({6, 7}))
    assert (plan.serve.default, plan.load) == (7, ())
    assert set(plan.serve.artifacts) == {7}  # the policy has one version


def test_a_version_that_cannot_be_loaded_takes_over_from_nothing_that_is_there() -> None:
    there = keys(frozenset({6, 7}))
    wanted = wanted_versions(there, VersionPolicy(newest=1), {})
    for resident in ({6}, set[int]()):
        plan = plan_versions(AnsweringVersions({6: there[6]}, 6), wanted, there, VersionsInMemory(resident, {7}))
        assert (plan.serve.default, plan.load) == (6, ())


def test_a_withdrawn_version_gives_way_at_once() -> None:
    there = keys(frozenset({6}))
    served = AnsweringVersions(keys(frozenset({6, 7})), 7, {"canary": 7})
    plan = plan_versions(served, wanted_versions(there, VersionPolicy(), {}), there, VersionsInMemory())
    assert (plan.serve.default, plan.serve.labels) == (6, {})


def test_what_is_in_memory_is_a_version_that_is_there_a_withdrawn_one_or_another_model() -> None:
    in_memory = ["m/6/a.tar", "m/7/a.tar", "m/6/older.tar", "other/7/a.tar", "plain.tar"]
    memory = versions_in("m", in_memory, keys(frozenset({6, 8})), failed=["m/8/a.tar", "m/5/a.tar"])
    assert (memory.resident, memory.failed, memory.gone) == ({6}, {8}, ["m/6/older.tar", "m/7/a.tar"])
