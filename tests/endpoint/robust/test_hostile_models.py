"""Model files that end or fill a process, on a live endpoint: their callers get the reason, and no other call fails."""

import pickle
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from botocore.exceptions import ClientError
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.hostile.files import Called, Hostile, booster, of_kind
from benchmarks.scene import ROW
from tests.container.helpers.minisigned import public_line, signed
from tests.endpoint.helpers import endpoint_pages
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many

KINDS = (
    "XGBoost JSON, 300,000,000 classes",
    "XGBoost JSON, a cycle",
    "XGBoost JSON, a child that is not there",
    "XGBoost JSON, deep",
    "XGBoost UBJSON, deep",
    "XGBoost JSON, categories",
    "pickle, code",
    "pickle, a decision tree",
)
GOOD = Hostile("good", "xgboost-model", bytes(booster("plain").save_raw("ubj")))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(tmp_path_factory.mktemp("hostile"), frameworks=True) as live:
        folder = live.folder("models")
        (folder / "good.tar.gz").write_bytes(GOOD.archive())
        for number, kind in enumerate(KINDS):
            (folder / f"{number}.tar.gz").write_bytes(of_kind(kind).archive())
        live.deploy("mixed", Variant(many("models", {"TORPOR_MEMORY_MIB": "512"})))
        yield live


def test_no_hostile_file_ends_the_instance_or_disturbs_its_neighbour(hostile: LiveEndpoint) -> None:
    right = hostile.invoke("mixed", ROW, TargetModel="good.tar.gz")["Body"]
    for number, kind in enumerate(KINDS):
        for _ in range(2):
            with pytest.raises(ClientError, match="ModelError"):
                hostile.invoke("mixed", ROW, TargetModel=f"{number}.tar.gz")
        assert hostile.invoke("mixed", ROW, TargetModel="good.tar.gz")["Body"] == right, kind
    assert endpoint_pages.launches(hostile, "mixed") == 1


def test_a_quarantined_model_is_served_once_a_good_one_is_uploaded_in_its_place(hostile: LiveEndpoint) -> None:
    artifact: Path = hostile.folder("models") / "poisoned.tar.gz"
    artifact.write_bytes(of_kind("XGBoost UBJSON, deep").archive())
    with pytest.raises(ClientError, match="quarantined"):
        hostile.invoke("mixed", ROW, TargetModel="poisoned.tar.gz")
    artifact.write_bytes(GOOD.archive())
    right = hostile.invoke("mixed", ROW, TargetModel="good.tar.gz")["Body"]
    assert hostile.invoke("mixed", ROW, TargetModel="poisoned.tar.gz")["Body"] == right


def test_a_reload_has_a_quarantined_model_tried_again(hostile: LiveEndpoint, tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    ends = f"__import__('os').path.exists({str(mended)!r}) or __import__('os')._exit(3)"
    artifact = hostile.folder("models") / "ends.tar.gz"
    artifact.write_bytes(Hostile("ends", "model.pkl", pickle.dumps(Called(eval, ends))).archive())

    def said() -> str:
        with pytest.raises(ClientError) as raised:
            hostile.invoke("mixed", ROW, TargetModel="ends.tar.gz")
        return str(raised.value)

    assert "ended its process with exit code 3" in said()
    mended.touch()
    assert "quarantined" in said(), "it was tried again without a reload"
    urlopen(Request(f"{hostile.url}/_torpor/reload?endpoint=mixed&model=ends.tar.gz", method="POST")).close()
    assert "has no predict method" in said()


def test_where_only_listed_data_is_trusted_the_rest_is_refused_by_name(hostile: LiveEndpoint) -> None:
    folder = hostile.folder("vouched")
    pickle, script = of_kind("pickle, code"), Hostile("script", "inference.py", b"raise SystemExit")
    for name, file in {"good": GOOD, "unlisted": GOOD, "pickle": pickle, "script": script}.items():
        (folder / f"{name}.tar.gz").write_bytes(file.archive())
    listed = [f"{name}.tar.gz" for name in ("good", "pickle", "script")]
    digests = [f"{sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in listed]
    (folder / "SHA256SUMS").write_text("".join(digests))
    hostile.deploy("vouched", Variant(many("vouched", {"TORPOR_REQUIRE_DIGESTS": "true", "TORPOR_TRUST": "data"})))
    refused = {
        "unlisted": "not in the list of digests SHA256SUMS",
        "pickle": "TORPOR_TRUST=data forbids it",
        "script": "TORPOR_TRUST=data allows only",
    }
    for name, reason in refused.items():
        with pytest.raises(ClientError, match=reason):
            hostile.invoke("vouched", ROW, TargetModel=f"{name}.tar.gz")
    assert hostile.invoke("vouched", ROW, TargetModel="good.tar.gz")["Body"]
    secret = Ed25519PrivateKey.generate()
    hostile.deploy("signed", Variant(many("vouched", {"TORPOR_DIGEST_KEY": public_line(secret)})))
    with pytest.raises(ClientError, match=r"SHA256SUMS: it has no signature SHA256SUMS.minisig by minisign"):
        hostile.invoke("signed", ROW, TargetModel="good.tar.gz")
    (folder / "SHA256SUMS.minisig").write_text(signed(secret, (folder / "SHA256SUMS").read_bytes()))
    assert hostile.invoke("signed", ROW, TargetModel="good.tar.gz")["Body"]
    (folder / "good.tar.gz").write_bytes(pickle.archive())
    hostile.deploy("vouched-2", Variant(many("vouched", {"TORPOR_REQUIRE_DIGESTS": "true"})))
    with pytest.raises(ClientError, match="its SHA-256 is"):
        hostile.invoke("vouched-2", ROW, TargetModel="good.tar.gz")
