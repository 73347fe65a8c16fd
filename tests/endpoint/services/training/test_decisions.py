"""The decisions of training: stages, hyperparameters, and where an object of a channel lies."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.services.jobs.s3_inputs import InputMissing, place
from torpor_endpoint.services.jobs.scripts.script_output import Output
from torpor_endpoint.services.jobs.stages import begun, moved
from torpor_endpoint.services.training.lifecycle import MOVES, STAGES, TrainingJob, TrainingStage
from torpor_endpoint.services.training.rules import has_algorithm
from torpor_endpoint.services.training.running.toolkit import arguments, decoded, users


@given(st.lists(st.sampled_from(TrainingStage)))
def test_a_job_moves_only_as_the_table_says_and_its_times_join(stages: list[TrainingStage]) -> None:
    job, now_s = begun(TrainingJob, "job", "arn", {}, 0.0), 0.0
    for stage in stages:
        now_s += 1.0
        if stage in MOVES[job.stage]:
            job = moved(job, stage, now_s)
        else:
            with pytest.raises(ValueError, match="does not go"):
                moved(job, stage, now_s)
    earlier, later = job.transitions[:-1], job.transitions[1:]
    assert all(past.ended_s == following.started_s for past, following in zip(earlier, later, strict=True))
    assert (job.ended_s is None) == (job.status in ("InProgress", "Stopping"))
    assert (job.transitions[-1].ended_s is None) == (job.ended_s is None)


def test_every_stage_has_a_status_and_can_fail_or_has_ended() -> None:
    assert set(STAGES) == set(MOVES) == set(TrainingStage)
    assert all(not moves or TrainingStage.FAILED in moves for moves in MOVES.values())


VALUES = st.booleans() | st.integers() | st.text() | st.lists(st.integers())


@given(st.dictionaries(st.text(min_size=1), VALUES))
def test_json_hyperparameters_are_decoded_to_their_values(values: dict[str, object]) -> None:
    assert decoded({name: json.dumps(value) for name, value in values.items()}) == values
    assert len(arguments(values)) == 2 * len(values)


def test_a_hyperparameter_that_is_no_json_stays_a_text() -> None:
    deep = "[" * 2500
    assert decoded({"a": "reg:linear", "b": "1e-3", "c": deep}) == {"a": "reg:linear", "b": 0.001, "c": deep}
    assert users({"sagemaker_program": "x", "eta": 1}) == {"eta": 1}


@pytest.mark.parametrize(
    ("key", "prefix", "path"),
    [
        ("data/train/a/b.csv", "data/train/", "a/b.csv"),
        ("data/train/a.csv", "data/train", "a.csv"),
        ("data/train.csv", "data/train.csv", "train.csv"),
        ("data/train-2/a.csv", "data/train", "train-2/a.csv"),
        ("a.csv", "", "a.csv"),
        ("data//etc/passwd", "data/", "etc/passwd"),
    ],
)
def test_an_object_lies_where_it_does_below_its_prefix(key: str, prefix: str, path: str) -> None:
    assert place(key, prefix) == path


@given(st.text(), st.text())
def test_no_key_leads_out_of_its_channel(prefix: str, rest: str) -> None:
    try:
        path = place(prefix + rest, prefix)
    except InputMissing:
        return
    assert not path.startswith("/")
    assert ".." not in path.split("/")


def test_images_that_train_here() -> None:
    assert has_algorithm("811284229777.dkr.ecr.us-east-1.amazonaws.com/xgboost:1") is True
    assert has_algorithm("torpor") is False
    assert has_algorithm("763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.0") is None


def test_output_keeps_its_start_and_its_last_line(tmp_path: Path) -> None:
    with Output(tmp_path / "log", limit_bytes=10) as output:
        for piece in (b"01234567", b"89abc\n", b"last words\n\n"):
            output.write(piece)
    kept = (tmp_path / "log").read_text()
    assert kept.startswith("0123456789\n[")
    assert "abc" not in kept
    assert output.last_line == "last words"
