"""A target model has one name, however its header spells it; what no reader would take as it is, is no name."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from torpor_container.core.target_names import BadTarget, is_target, name_in, name_of, spelling_of

SPELLED = st.text(max_size=40) | st.text("./a %\\é\u0301\u00a0", max_size=12)
BYTES = st.binary(max_size=20) | st.lists(st.sampled_from([b".", b"/", b"a", b"\xff", b" ", b"\n"])).map(b"".join)


def named(header: bytes) -> str | None:
    try:
        return name_of(header.decode(errors="surrogateescape"))
    except BadTarget:
        return None


@given(BYTES | SPELLED.map(lambda text: text.encode(errors="surrogatepass")))
@example(b"a\n")
@example(b"x" * 1024)
@example(b"x" * 1025)
@example(b"..a/b..")
@example(b"a/.hidden")
def test_the_short_way_through_a_header_names_what_the_rules_name(header: bytes) -> None:
    try:
        found: str | None = name_in(header)
    except BadTarget:
        found = None
    assert found == named(header)


@given(SPELLED)
def test_two_spellings_of_a_name_differ_by_one_slash_and_no_more(text: str) -> None:
    if not is_target(text):
        with pytest.raises(BadTarget):
            name_of(text)
        return
    name = name_of(text)
    assert text in (name, f"/{name}")
    assert name_of(f"/{name}") == name == name_of(spelling_of(name).strip(" "))
