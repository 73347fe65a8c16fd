"""The page of a model's origin: the object that each instance loaded, its digest, and who made it. It does no I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from torpor_container.typed_json import read, written
from torpor_endpoint.core.pages import Json


@dataclass(frozen=True)
class Makers:
    """What is known of how an artifact came to be: ARNs, and addresses of the data that it was trained on."""

    model_packages: tuple[str, ...] = ()
    training_jobs: tuple[str, ...] = ()
    data: tuple[str, ...] = ()


@dataclass(frozen=True)
class StoredObject:
    """An object as S3 has it now. `artifact_version` is what an instance calls this version."""

    etag: str
    artifact_version: str


@dataclass(frozen=True)
class ModelOrigin:
    """The artifact of a model on one instance. A text is empty where it is not known."""

    model: str
    variant: str
    instance: str
    url: str
    """`s3://bucket/key`"""
    artifact_version: str
    """The object's version, as the store of the instance names it."""
    digest: str
    """The SHA-256 of the object's bytes, in hex."""
    etag: str = ""
    """The object's ETag, without quotes."""
    overwritten: bool = False
    """S3 has another version now."""
    gone: bool = False
    """S3 has no such object now."""
    made_by: Makers = Makers()
    loaded_s: float | None = None
    """Epoch seconds of the load that the ledger remembers; None for a model that is in memory."""


def origins_page(origins: Sequence[ModelOrigin]) -> Json:
    """`told` has the lines for a person."""
    return {"origins": written(list(origins)), "told": [line for one in origins for line in told_origin(one)]}


def read_origins(page: Json) -> tuple[ModelOrigin, ...]:
    return read(tuple[ModelOrigin, ...], page["origins"])


def compared(origin: ModelOrigin, stored: StoredObject | None) -> ModelOrigin:
    """The origin, with what S3 says of the object now; None if it has none."""
    if stored is None:
        return replace(origin, gone=True, etag=_etag_in(origin.artifact_version))
    if origin.artifact_version and stored.artifact_version != origin.artifact_version:
        return replace(origin, overwritten=True, etag=_etag_in(origin.artifact_version))
    return replace(origin, etag=stored.etag)


def told_origin(origin: ModelOrigin) -> Iterator[str]:
    """The lines that tell a person, without an indent."""
    where = f"{origin.variant}/{origin.instance}" if origin.instance else origin.variant
    yield f"in memory of {where}:" if origin.loaded_s is None else f"not in memory; {where} loaded it last:"
    now = "; S3 has no such object now" if origin.gone else "; S3 has another version now" if origin.overwritten else ""
    yield f"  object    {origin.url or 'not known'}{now}"
    yield f"  version   {origin.artifact_version or 'not known'}"
    yield f"  ETag      {origin.etag or 'not known'}"
    yield f"  SHA-256   {origin.digest or 'not known'}"
    for word, found in (
        ("package", origin.made_by.model_packages),
        ("trained", origin.made_by.training_jobs),
        ("data", origin.made_by.data),
    ):
        yield from (f"  {word:<9} {one}" for one in found)


def _etag_in(version: str) -> str:
    """The ETag where a version is one, as S3's are: in quotes."""
    return version.strip('"') if version.startswith('"') else ""
