"""JSON as XGBoost writes it becomes the UBJSON that it writes of the same model, byte for byte, or stays as it is."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost

from tests.container.helpers.boosters_of_all_objectives import COLUMNS, OBJECTIVES, booster
from tests.container.helpers.boosters_of_other_kinds import KINDS
from torpor_container.formats import Conventions
from torpor_container.formats.xgboost import xgboost_format
from torpor_container.formats.xgboost.written_bytes import EXTENSION, is_sound

if EXTENSION is None:
    pytest.skip("the extension was not built: there is no C compiler", allow_module_level=True)

ubjson = EXTENSION.ubjson


def both(trained: Any) -> tuple[bytes, bytes]:
    return bytes(trained.save_raw("json")), bytes(trained.save_raw("ubj"))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_boosters_of_all_objectives_are_written_as_xgboost_does(objective: str) -> None:
    json, expected = both(booster(objective, num_parallel_tree=2, subsample=0.5))
    assert ubjson(json) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_boosters_of_other_kinds_are_written_as_xgboost_does(kind: str) -> None:
    json, expected = both(KINDS[kind]())
    assert ubjson(json) == expected


def test_names_and_attributes_keep_their_letters() -> None:
    trained = booster("reg:squarederror").copy()
    trained.feature_names = ['a"b', "c\\d", "ä", "e f", *(f"column {number}" for number in range(COLUMNS - 4))]
    trained.set_attr(scikit_learn='{"a": "b"}', lines="one\n\ttwo\r", other="\u2028 ß")
    json, expected = both(trained)
    assert ubjson(json) == expected


def test_attributes_that_xgboost_escapes_otherwise_leave_the_json_as_it_is() -> None:
    for odd in ("\b", "\f", "a\\u0041"):
        trained = booster("reg:squarederror").copy()
        trained.set_attr(odd=odd)
        assert ubjson(both(trained)[0]) is None


@pytest.mark.parametrize("seed", range(6))
def test_every_float32_is_the_one_that_xgboost_reads(seed: int) -> None:
    """Thresholds of all sizes: any bits, those below the least normal number, and short decimals."""
    chance = np.random.default_rng(seed)
    changed, name, at = bytearray(booster("reg:squarederror", rounds=20).save_raw("ubj")), b"split_conditions[$d#L", 0
    while (found := changed.find(name, at)) >= 0:
        begin = found + len(name) + 8
        count = int.from_bytes(changed[begin - 8 : begin], "big")
        bits = chance.integers(0, 2**32, count, np.uint32)
        if seed % 3 == 1:
            bits &= np.uint32(0x80FFFFFF)
        elif seed % 3 == 2:
            shorter = chance.integers(1, 99_999, count) * 10.0 ** chance.integers(-44, 34, count)
            bits = shorter.astype(np.float32).view(np.uint32)
        floats = bits.view(np.float32)
        at = begin + 4 * count
        changed[begin:at] = np.where(np.isfinite(floats), floats, 1).astype(">f4").tobytes()
    read = xgboost.Booster()
    read.load_model(changed)
    json, expected = both(read)
    assert expected == changed
    assert ubjson(json) == expected


WHOLE = b'{"id":1,"base_weights":[1E0,-2.5E-1],"left_children":[1,-1],"tree_info":[0,200],"name":"a"}'


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"[]",
        b"1",
        WHOLE[:-1],
        WHOLE + b" ",
        WHOLE + b"}",
        WHOLE.replace(b":", b": ", 1),
        WHOLE.replace(b"1E0", b"1e0"),
        WHOLE.replace(b"1E0", b"1.E0"),
        WHOLE.replace(b"1E0", b".1E0"),
        WHOLE.replace(b"1E0", b"01E0"),
        WHOLE.replace(b"1E0", b"1E"),
        WHOLE.replace(b"1E0", b"1E+1"),
        WHOLE.replace(b"1E0", b"1E99"),
        WHOLE.replace(b"1E0", b"1E999999999999"),
        WHOLE.replace(b"1E0", b"1.234567891E0"),
        WHOLE.replace(b"1E0", b"NaN"),
        WHOLE.replace(b"1E0", b""),
        WHOLE.replace(b"[1,-1]", b"[1,-1"),
        WHOLE.replace(b"[1,-1]", b"[1,-1,]"),
        WHOLE.replace(b"[1,-1]", b"[1 -1]"),
        WHOLE.replace(b"[1,-1]", b"[1,2147483648]"),
        WHOLE.replace(b"[1,-1]", b"[1.5,-1]"),
        WHOLE.replace(b"[0,200]", b"[0,9999999999999999999]"),
        WHOLE.replace(b'"a"', b"true"),
        WHOLE.replace(b'"a"', b"null"),
        WHOLE.replace(b'"a"', b'"a'),
        WHOLE.replace(b'"a"', b'"\n"'),
        WHOLE.replace(b'"a"', b'"\\x"'),
        WHOLE.replace(b'"a"', b'"\\'),
        b'{"a":' * 100_000,
        b'{"a":' + b"[" * 100_000,
    ],
)
def test_anything_else_stays_as_it_is(broken: bytes) -> None:
    assert ubjson(WHOLE) is not None
    assert ubjson(broken) is None


def test_what_needs_no_trial_of_mutated_json_is_the_model_that_xgboost_reads_from_it() -> None:
    known, _ = both(booster("multi:softprob", rounds=2, max_depth=2))
    taken = 0
    for seed in range(300):
        chance, broken = random.Random(seed), bytearray(known)
        if seed % 3:
            digits = [place for place, byte in enumerate(broken) if chr(byte) in "0123456789.E-"]
            broken[chance.choice(digits)] = ord(chance.choice("0123456789.E-"))
        else:
            at = chance.randrange(len(broken))
            del broken[at : at + chance.randint(1, 9)]
        written = ubjson(broken)
        if written is None or not is_sound(bytes(written)):
            continue
        by_json, by_ubjson = xgboost.Booster(), xgboost.Booster()
        by_json.load_model(broken)
        by_ubjson.load_model(written)
        assert both(by_json) == both(by_ubjson), seed
        taken += 1
    assert taken > 30


def test_a_model_that_this_xgboost_reads_from_json_alone_is_read_from_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a later version, which has an array of a type of its own."""
    trained = booster("reg:squarederror")
    json, expected = both(trained)
    file = tmp_path / "model.json"
    file.write_bytes(json)

    class Other:
        @staticmethod
        def ubjson(content: bytearray) -> bytearray:
            found: bytearray = ubjson(content)
            return found.replace(b"left_children[$l", b"left_children[$d")

    monkeypatch.setattr(xgboost_format, "EXTENSION", Other)
    member = xgboost_format.member(file, Conventions())
    assert bytes(member.booster.save_raw("ubj")) == expected
