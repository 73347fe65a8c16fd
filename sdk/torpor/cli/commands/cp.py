"""`torpor cp`: packs models, checks that they would load, and uploads them to S3."""

from pathlib import Path
from typing import Annotated

import typer

from torpor.cli.asked_endpoint import Url, connected
from torpor.cli.exit_codes import UsageRefused
from torpor.cli.uploading import NoCheck, tell, uploaded
from torpor.uploads import artifact_sources
from torpor.uploads.storing import SCHEME, UploadPlace

FILES = (
    "Model files, artifacts (*.tar.gz), folders with code/inference.py, or folders of these; and s3://bucket/prefix/."
)


def cp(
    paths: Annotated[list[str], typer.Argument(help=FILES, metavar="FILE... s3://BUCKET/PREFIX/")],
    name: Annotated[str | None, typer.Option(help="The key below the prefix, for one model.", metavar="KEY")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace objects that have other content.")] = False,
    no_check: NoCheck = False,
    url: Url = None,
) -> None:
    """Upload models to S3: a model file is packed as an artifact, and what would not load is refused.

    Nothing is uploaded unless all of it can be. A folder is searched for models at any depth.
    """
    *files, destination = paths
    if not files or any(one.startswith(SCHEME) for one in files):
        raise UsageRefused("name local files first, and then the place: torpor cp FILE... s3://BUCKET/PREFIX/")
    place, key = _place(destination, name, len(files))
    found = artifact_sources.find([Path(one) for one in files], key)
    done = uploaded(connected(url), found, place, force=force, check=not no_check)
    tell(place, done)


def _place(destination: str, name: str | None, files: int) -> tuple[UploadPlace, str | None]:
    """The prefix and the key: both, if the destination ends as an artifact. Raises UsageRefused, ValueRefused."""
    if not destination.startswith(SCHEME):
        raise UsageRefused(f"the last argument is a place in S3, as s3://bucket/prefix/, not {destination}")
    folder, _, last = destination.rpartition("/")
    if files == 1 and name is None and last.endswith(artifact_sources.ARCHIVE_SUFFIXES):
        return UploadPlace.of(folder), last
    return UploadPlace.of(destination), name
