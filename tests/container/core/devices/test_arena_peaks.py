"""When an arena shrinks."""

from torpor_container.core.devices.arena_peaks import ArenaPeaks


def test_requests_of_the_usual_size_leave_the_arena_as_it_is() -> None:
    peaks = ArenaPeaks()
    assert not any(peaks.is_peak(size) for size in (100, 120, 90, 300, 110))


def test_the_first_request_is_no_peak_since_nothing_is_usual_yet() -> None:
    assert not ArenaPeaks().is_peak(1e9)


def test_a_far_larger_request_is_a_peak_each_time_until_such_are_usual() -> None:
    peaks = ArenaPeaks()
    peaks.is_peak(100)
    found = [peaks.is_peak(1000) for _ in range(20)]
    assert (found[0], found[-1]) == (True, False)
    assert found == sorted(found, reverse=True), "once they are usual they stay so"


def test_the_usual_size_follows_a_tenth_of_the_way_and_no_further_than_to_a_peak() -> None:
    """100 is usual; after 1,000, which counts as 400, 130 is; after 30, 120."""
    for size, is_peak in ((520.0, False), (520.1, True)):
        peaks = ArenaPeaks()
        assert [peaks.is_peak(one) for one in (100.0, 1000.0, size)] == [False, True, is_peak]
    for size, is_peak in ((480.0, False), (480.1, True)):
        peaks = ArenaPeaks()
        assert [peaks.is_peak(one) for one in (100.0, 1000.0, 30.0, size)] == [False, True, False, is_peak]
