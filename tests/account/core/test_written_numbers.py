import pytest

from torpor_account.core.written_numbers import decimal_of, whole_of

NO_NUMBERS = ["1_000", " 1", "1 ", "\u0661", "\uff11", "1e", "0x1", "", "+", ".", "nan", "inf", "-Infinity", "1,5"]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_python_alone_takes_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        decimal_of(text)
    with pytest.raises(ValueError, match="is not a whole number"):
        whole_of(text)


def test_numbers_are_read_as_they_are_written() -> None:
    assert [decimal_of(text) for text in ("1", "-2.5", "+.5", "3.", "1e3", "2E-05")] == [1, -2.5, 0.5, 3, 1000, 2e-05]
    assert [whole_of(text) for text in ("0", "-12", "+007")] == [0, -12, 7]
    with pytest.raises(ValueError, match="whole"):
        whole_of("1.0")
