"""A target model has one name, however its header spells it; what no reader would take as it is, is no name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.core.target_names import BadTarget, is_target, name_of, spelling_of

SPELLED = st.text(max_size=40) | st.text("./a %\\é\u0301\u00a0", max_size=12)


@given(SPELLED)
def test_two_spellings_of_a_name_differ_by_one_slash_and_no_more(text: str) -> None:
    if not is_target(text):
        with pytest.raises(BadTarget):
            name_of(text)
        return
    name = name_of(text)
    assert text in (name, f"/{name}")
    assert name_of(f"/{name}") == name == name_of(spelling_of(name).strip(" "))
