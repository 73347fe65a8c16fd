"""Digests that are required: an artifact that the list does not name as it is is refused, with the reason."""

import asyncio
import hashlib
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.container.helpers.minisigned import public_line, signed
from torpor_container.app import InstanceProcess
from torpor_container.artifacts.digests import SIGNATURE_MAX_BYTES, DigestedStore, UnreadableList, digests
from torpor_container.artifacts.errors import ArtifactInvalid
from torpor_container.artifacts.list_signatures import check_signed, signing_key
from torpor_container.artifacts.stores.folder import FolderArtifactStore
from torpor_container.settings import BadSetting, Settings

GOOD, KEY = b"the model", "models/a/house.tar.gz"


def line(name: str, content: bytes = GOOD) -> str:
    return f"{hashlib.sha256(content).hexdigest()}  {name}\n"


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    (tmp_path / "models" / "a").mkdir(parents=True)
    (tmp_path / KEY).write_bytes(GOOD)
    return tmp_path


def store(bucket: Path) -> DigestedStore:
    inner = FolderArtifactStore(bucket)
    return DigestedStore(inner, "models/", inner, "models/SHA256SUMS")


def fetched(bucket: Path, stored: DigestedStore | None = None) -> bytes:
    async def story() -> bytes:
        digested = stored or store(bucket)
        await digested.get(KEY, await digested.head(KEY), into := bucket / "fetched")
        return into.read_bytes()

    return asyncio.run(story())


def test_an_artifact_with_the_digest_of_the_list_is_fetched_and_never_read_in_place(bucket: Path) -> None:
    (bucket / "models" / "SHA256SUMS").write_text("# ours\n\n" + line("b.tar.gz", b"") + line("./a/house.tar.gz"))
    assert fetched(bucket) == GOOD
    assert asyncio.run(store(bucket).head(KEY)).file is None


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (line("b.tar.gz"), "is not in the list of digests"),
        (line("a/house.tar.gz", b"another"), "its SHA-256 is"),
        ("house.tar.gz\n", "line 1 is no digest and name"),
        (None, "there is no list of digests"),
    ],
)
def test_any_other_is_refused_with_the_reason(bucket: Path, said: str | None, reason: str) -> None:
    if said is not None:
        (bucket / "models" / "SHA256SUMS").write_text(said)
    with pytest.raises(ArtifactInvalid, match=reason):
        fetched(bucket)
    assert not (bucket / "fetched").exists()


def test_a_list_that_changes_makes_another_version_of_the_artifact(bucket: Path) -> None:
    listed, one = bucket / "models" / "SHA256SUMS", store(bucket)
    listed.write_text(line("a/house.tar.gz"))
    before = asyncio.run(one.head(KEY)).version
    assert asyncio.run(one.head(KEY)).version == before
    listed.write_text(line("a/house.tar.gz", b"a longer one") + line("c"))
    assert asyncio.run(one.head(KEY)).version != before
    with pytest.raises(ArtifactInvalid, match="its SHA-256 is"):
        fetched(bucket, one)


def test_the_list_is_read_as_sha256sum_writes_it() -> None:
    hexes = "AB" * 32
    assert digests(f"{hexes} *a b.tar.gz\r\n") == {"a b.tar.gz": hexes.lower()}
    with pytest.raises(UnreadableList, match="line 2"):
        digests(f"{hexes}  a\n{hexes[:-1]}  b\n")


def test_the_place_of_the_list_is_a_key_in_s3() -> None:
    assert Settings.read({"TORPOR_DIGEST_LIST": "s3://vault/lists/ours"}).digest_list == "s3://vault/lists/ours"
    with pytest.raises(BadSetting, match="must be s3://bucket/key"):
        Settings.read({"TORPOR_DIGEST_LIST": "SHA256SUMS"})


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({}, "needs TORPOR_MODEL_SOURCE"),
        (
            {"TORPOR_MODEL_SOURCE": "s3://b/m", "SAGEMAKER_SUBMIT_DIRECTORY": "s3://b/code.tar.gz"},
            "that no list of digests has",
        ),
    ],
)
def test_digests_that_are_required_leave_no_other_way_in(more: dict[str, str], reason: str) -> None:
    with pytest.raises(BadSetting, match=reason):
        InstanceProcess(Settings.read({"TORPOR_REQUIRE_DIGESTS": "true", "SAGEMAKER_MULTI_MODEL": "true", **more}))


def test_only_a_list_that_the_key_has_signed_counts_and_a_changed_one_does_not(bucket: Path) -> None:
    secret, listed = Ed25519PrivateKey.generate(), bucket / "models" / "SHA256SUMS"
    key, inner = signing_key(public_line(secret)), FolderArtifactStore(bucket)
    one = DigestedStore(inner, "models/", inner, "models/SHA256SUMS", partial(check_signed, key))
    signature = listed.with_name("SHA256SUMS.minisig")
    listed.write_text(line("a/house.tar.gz"))
    with pytest.raises(ArtifactInvalid, match=r"SHA256SUMS: it has no signature models/SHA256SUMS.minisig"):
        fetched(bucket, one)
    signature.write_text(signed(secret, listed.read_bytes()))
    assert fetched(bucket, one) == GOOD
    listed.write_text(line("a/house.tar.gz") + line("b.tar.gz", b""))
    with pytest.raises(ArtifactInvalid, match="it is not what the key 0807060504030201 has signed"):
        fetched(bucket, one)
    signature.write_text(signed(secret, listed.read_bytes()))
    assert fetched(bucket, one) == GOOD
    signature.write_text("x" * (SIGNATURE_MAX_BYTES + 1))
    listed.write_text(line("a/house.tar.gz"))
    with pytest.raises(ArtifactInvalid, match="it has no signature"):
        fetched(bucket, one)


def test_the_key_is_a_line_of_minisign_and_requires_digests() -> None:
    key = {"TORPOR_DIGEST_KEY": public_line(Ed25519PrivateKey.generate())}
    with pytest.raises(BadSetting, match="needs TORPOR_MODEL_SOURCE"):
        InstanceProcess(Settings.read({**key, "SAGEMAKER_MULTI_MODEL": "true"}))
    with pytest.raises(BadSetting, match=r"TORPOR_DIGEST_KEY.* must be a public key of minisign"):
        Settings.read({"TORPOR_DIGEST_KEY": "ssh-ed25519 AAAA"})
