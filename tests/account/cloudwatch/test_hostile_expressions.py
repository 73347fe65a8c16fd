"""A text that is no expression is refused in little time, whatever its contents."""

import time

import pytest

from torpor_account.cloudwatch.arithmetic import ExpressionError
from torpor_account.cloudwatch.expressions import evaluate

LENGTH = 2_000


@pytest.mark.parametrize("part", ["1", "A", "1.", "1e", ".", "a.", "'", "1e+", "("])
def test_a_text_that_is_no_expression_is_refused_in_no_time(part: str) -> None:
    began_s = time.thread_time()
    with pytest.raises(ExpressionError):
        evaluate({"e": part * (LENGTH // len(part)) + "_"}, {})
    assert time.thread_time() - began_s < 0.1
