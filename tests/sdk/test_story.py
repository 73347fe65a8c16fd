"""The story of a model, as a person reads it."""

from torpor.seen import Decision, ResidentModel
from torpor.story import HAPPENED, Story, counted, milliseconds, size, told


def test_a_story_names_who_needed_the_room() -> None:
    evicted = Decision(0.0, "a", "evict", "b needs the room; idle for 2.0 s after 3 hits", for_model="b")
    assert told(evicted).endswith("has to leave memory: b needs the room; idle for 2.0 s after 3 hits")


def test_a_story_says_how_long_it_took_and_how_it_stands() -> None:
    story = Story(
        "a",
        (Decision(0.0, "a", "loaded", "measured", took_s=0.0119),),
        (ResidentModel("a", 2**21, 0, 1.25, "onnx", 4),),
    )
    first, last = story.lines()
    assert first.endswith("was loaded in 11.9 ms: measured")
    assert last == "now: in memory, 2.0 MiB, 4 hits, idle for 1.2 s"


def test_a_model_that_left_is_said_to_be_gone() -> None:
    assert Story("a", (Decision(0.0, "a", "unloaded"),)).lines()[-1] == "now: not in memory"


def test_a_model_that_nobody_named_has_no_story() -> None:
    assert "no request has named it" in str(Story("a", ()))


def test_a_word_that_is_not_known_here_is_shown_as_it_is() -> None:
    assert "pondered" not in HAPPENED
    assert told(Decision(0.0, "a", "pondered")).endswith("  pondered")


def test_one_of_a_thing_is_singular() -> None:
    assert [counted(1, "hit"), counted(2, "hit"), counted(0, "hit")] == ["1 hit", "2 hits", "0 hits"]


def test_figures_keep_their_meaning_at_every_size() -> None:
    assert [milliseconds(0.0042), milliseconds(1.375)] == ["4.2 ms", "1,375 ms"]
    assert [size(2048), size(1.5 * 2**20), size(8 * 2**30)] == ["2 KiB", "1.5 MiB", "8.0 GiB"]
