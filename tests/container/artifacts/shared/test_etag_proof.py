"""What an ETag proves: the bytes of an object that came whole, or in parts of a usual size, and no others."""

from hashlib import md5

from hypothesis import given
from hypothesis import strategies as st

from torpor_container.artifacts.receiver import md5_of
from torpor_container.artifacts.shared.etag_proof import MIB, PART_MIB, TRIED_MAX, EtagProof, part_sizes

SMALL = st.binary(max_size=300)
LARGE = bytes(range(251)) * (11 * MIB // 251)  # no part of it is like another


def etag_of(body: bytes, part_bytes: int | None = None) -> str:
    """As S3 makes it."""
    if part_bytes is None:
        return f'"{md5(body).hexdigest()}"'
    parts = [body[at : at + part_bytes] for at in range(0, len(body), part_bytes)] or [b""]
    return f'"{md5(b"".join(md5(part).digest() for part in parts)).hexdigest()}-{len(parts)}"'


def proven(etag: str, body: bytes, size_bytes: int, piece_bytes: int = 1_000_000) -> bool:
    proof = EtagProof(etag, size_bytes)
    for at in range(0, len(body), piece_bytes):
        proof.take(body[at : at + piece_bytes])
    return proof.possible and proof.holds()


@given(SMALL, SMALL, st.integers(1, 400), st.booleans())
def test_an_etag_proves_its_own_bytes_and_no_others(
    body: bytes, other: bytes, piece_bytes: int, one_part: bool
) -> None:
    etag = etag_of(body, len(body) or 1) if one_part else etag_of(body)
    assert proven(etag, body, len(body), piece_bytes)
    assert proven(etag, other, len(body), piece_bytes) == (body == other)


def test_an_object_of_several_parts_is_proven_if_they_have_a_usual_size() -> None:
    for part_bytes, usual in ((8 * MIB, True), (5 * MIB, True), (10 * MIB, True), (9 * MIB, False)):
        etag = etag_of(LARGE, part_bytes)
        assert proven(etag, LARGE, len(LARGE), 3_333_333) == usual
        assert not proven(etag, LARGE[:-1] + b"!", len(LARGE))


@given(st.integers(0, 10**12), st.integers(1, 10_000))
def test_the_sizes_that_are_tried_give_so_many_parts(size_bytes: int, parts: int) -> None:
    tried = part_sizes(size_bytes, parts)
    assert len(tried) <= TRIED_MAX
    assert all(-(-size_bytes // each) == parts for each in tried if parts > 1)
    assert all(each // MIB in PART_MIB for each in tried if parts > 1)


def test_an_etag_of_another_kind_proves_nothing() -> None:
    for etag in ("", "1700-30-9", '"abc"', f'"{"0" * 32}-0"', f'W/"{"0" * 32}"'):
        assert not EtagProof(etag, 3).possible
    assert md5_of(f'"{"0" * 32}-2"') is None
