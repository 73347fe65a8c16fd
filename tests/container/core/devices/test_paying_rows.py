"""From how many rows a device pays."""

from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.devices.paying_rows import NEVER, ProbedBatch, paying_rows, told

seconds = st.floats(1e-6, 10.0)
tables = st.lists(st.tuples(seconds, seconds), max_size=6).map(
    lambda times: [ProbedBatch(4**place, *pair) for place, pair in enumerate(times)]
)


def test_the_device_pays_from_the_first_row_count_after_which_it_is_always_quicker() -> None:
    assert paying_rows([ProbedBatch(1, 1e-5, 1e-4), ProbedBatch(16, 2e-4, 1e-4), ProbedBatch(256, 3e-3, 1e-4)]) == 16


def test_the_device_must_be_quicker_than_all_turns_of_the_processor_side_by_side() -> None:
    """As an H200 was measured beside eight turns: it pays for 4,096 rows, and for 256 it would halve the throughput."""
    probed = [ProbedBatch(256, 1.36e-3, 1.25e-3), ProbedBatch(4096, 31e-3, 1.9e-3)]
    assert (paying_rows(probed), paying_rows(probed, side_by_side=8)) == (256, 4096)
    assert told(probed, "cuda:0", side_by_side=8) == (
        "cuda:0 predicts 4,096 rows and more, in 1.9 ms against 31 ms of the processor; fewer rows stay on the "
        "processor; the processor predicts 8 batches side by side"
    )
    assert told(probed[:1], "cuda:0", side_by_side=8) == (
        "the processor predicts every batch: 256 rows take it 1.36 ms, and cuda:0 1.25 ms; the processor predicts 8 "
        "batches side by side"
    )


def test_a_lucky_small_batch_does_not_count() -> None:
    assert paying_rows([ProbedBatch(1, 2.0, 1.0), ProbedBatch(16, 1.0, 2.0), ProbedBatch(256, 2.0, 1.0)]) == 256


def test_a_device_that_is_never_quicker_never_pays() -> None:
    probed = [ProbedBatch(1, 1e-5, 1e-4), ProbedBatch(16, 1e-4, 1e-4)]
    assert paying_rows(probed) == NEVER
    assert told(probed, "cuda:0") == "the processor predicts every batch: 16 rows take it 0.1 ms, and cuda:0 0.1 ms"


def test_what_predicts_where_is_told_in_a_sentence() -> None:
    probed = [ProbedBatch(1, 1e-5, 1e-4), ProbedBatch(16, 2e-4, 1e-4)]
    assert told(probed, "cuda:0") == (
        "cuda:0 predicts 16 rows and more, in 0.1 ms against 0.2 ms of the processor; fewer rows stay on the processor"
    )


def test_what_pays_from_the_first_row_and_what_was_not_probed_is_told() -> None:
    assert told([], "cuda:0") == "nothing was probed: every batch is predicted on cuda:0"
    assert told([ProbedBatch(1, 4.0, 0.999)], "cuda:0") == (
        "cuda:0 predicts 1 rows and more, in 999 ms against 4e+03 ms of the processor"
    )
    assert NEVER > 10**18


@given(tables, st.integers(1, 64))
def test_every_larger_probed_batch_is_quicker_on_the_device(probed: list[ProbedBatch], side_by_side: int) -> None:
    pays = paying_rows(probed, side_by_side)
    assert all(one.device_s * side_by_side < one.processor_s for one in probed if one.rows >= pays)
    smaller = [one for one in probed if one.rows < pays]
    assert not smaller or smaller[-1].device_s * side_by_side >= smaller[-1].processor_s
