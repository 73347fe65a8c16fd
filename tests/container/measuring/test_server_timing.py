"""What the requests of one load tell of it."""

from torpor_container.measuring.server_timing import LoadSpans, Timing
from torpor_container.wire import ColdLoad


def test_what_was_fetched_for_a_load_is_told_by_the_request_that_leads() -> None:
    spans = LoadSpans(lambda: 0.0, fetched_bytes=700)
    assert spans.report(leads=False) is None
    whole = ColdLoad(bytes=1, victims=[], reason="", took_s=1.0, efforts={}, fetched_bytes=700)
    spans.cold = whole
    assert spans.report(leads=True) == whole
    joined = {name: told for name, told in whole.items() if name != "fetched_bytes"} | {"joined": True}
    assert spans.report(leads=False) == joined
    assert spans.cold == whole


def test_only_the_request_that_leads_a_load_waits_for_all_of_it() -> None:
    spans, timing = LoadSpans(lambda: 0.0), Timing(lambda: 0.0)
    assert not timing.led
    spans.cold = ColdLoad(bytes=1, victims=[], reason="", took_s=8.0, efforts={})
    led = {}
    for leads in (True, False):
        timing.cold = spans.report(leads)
        led[leads] = timing.led
    assert led == {True: True, False: False}
