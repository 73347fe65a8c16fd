"""Accuracy from answers in the forms that models answer in."""

import pytest

from torpor.group_profiles.answered_accuracy import (
    AccuracyMeasure,
    AnswersNotUnderstood,
    accuracy,
    measure_for,
    read_answers,
)

CLASSES, R2 = AccuracyMeasure


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"0.1\n0.9\n", "text/csv; charset=utf-8", [["0.1"], ["0.9"]]),
        (b"0.1,0.9", "text/csv", [["0.1"], ["0.9"]]),
        (b"0.1,0.9\n0.8,0.2\n", "text/csv", [["0.1", "0.9"], ["0.8", "0.2"]]),
        (b"[[0.1], [0.9]]", "application/json", [["0.1"], ["0.9"]]),
        (b'{"predictions": [{"score": 0.1}, {"score": 0.9}]}', "application/json", [["0.1"], ["0.9"]]),
        (b"[1, 2, 3, 4]", "text/csv", [["1", "2"], ["3", "4"]]),
    ],
)
def test_answers_are_read_row_by_row(body: bytes, content_type: str, expected: list[list[str]]) -> None:
    assert read_answers(body, content_type, 2) == expected


@pytest.mark.parametrize("body", [b"1\n2\n3\n", b"", b"[1, 2", b'{"error": 1}'])
def test_answers_of_other_forms_are_refused(body: bytes) -> None:
    with pytest.raises(AnswersNotUnderstood):
        read_answers(body, "text/csv", 2)


@pytest.mark.parametrize(
    ("labels", "answers", "expected"),
    [
        (["0", "1", "1"], [["0.4"], ["0.6"], ["0.2"]], 2 / 3),  # probabilities
        (["0", "2"], [["0.4"], ["1.6"]], 1.0),  # classes as numbers
        (["1", "0"], [["0.1", "0.7", "0.2"], ["0.1", "0.7", "0.2"]], 0.5),  # scores
        (["cat", "dog"], [["cat"], ['"dog"']], 1.0),
    ],
)
def test_the_share_of_right_classes(labels: list[str], answers: list[list[str]], expected: float) -> None:
    assert measure_for(labels) is CLASSES
    assert accuracy(labels, answers, CLASSES) == pytest.approx(expected)


def test_r2_of_labels_that_are_no_whole_numbers() -> None:
    assert measure_for(["1.5", "2"]) is R2
    assert accuracy(["1.5", "2.5"], [["1.5"], ["2.5"]], R2) == 1.0
    assert accuracy(["1.5", "2.5"], [["2"], ["2"]], R2) == 0.0
    assert accuracy(["1.5", "2.5"], [["9"], ["-9"]], R2) == 0.0
    for labels, answers in ((["1", "1"], [["1"], ["1"]]), (["1", "2"], [["1", "2"], ["1", "2"]])):
        with pytest.raises(AnswersNotUnderstood):
            accuracy(labels, answers, R2)
