"""What `torpor cp` and `torpor deploy` do with local models: find them, pack them, check them, and upload them."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from torpor.calling.connection import EndpointConnection
from torpor.cli.progress_bar import bar
from torpor.errors import TorporError
from torpor.uploads import artifact_sources, load_check, storing
from torpor.uploads.artifact_sources import ArtifactSource
from torpor.uploads.storing import PlannedUpload, Stored, UploadPlace
from torpor_endpoint.core.pages.plain_figures import counted

NoCheck = Annotated[
    bool, typer.Option("--no-check", help="Do not check that the models would load: for a container of your own.")
]
REFUSED_SHOWN = 5


def uploaded(
    connection: EndpointConnection,
    found: artifact_sources.FoundSources,
    place: UploadPlace,
    *,
    force: bool,
    check: bool,
) -> list[PlannedUpload]:
    """Bring these models to S3, all or none, and say what was done with each. Raises TorporError with the reason."""
    for path in found.skipped:
        typer.echo(f"torpor: {path} is no model, and stays here", err=True)
    s3 = connection.client("s3")
    with TemporaryDirectory(prefix="torpor-cp-") as folder:
        files = _packed(found.artifacts, Path(folder))
        if check:
            refuse_bad(found.artifacts, files)
        plan = storing.planned(s3, place, [(files[one], one.key) for one in found.artifacts], force)
        with bar(f"uploading {counted(len(plan), 'model')}") as shown:
            shown.of(sum(one.path.stat().st_size for one in plan))
            storing.upload(s3, place, plan, shown.done)
    return plan


def _packed(artifacts: Sequence[ArtifactSource], folder: Path) -> dict[ArtifactSource, Path]:
    files = {}
    with bar("packing") as shown:
        shown.of(len(artifacts))
        for one in artifacts:
            try:
                files[one] = artifact_sources.packed(one, folder)
            except (FileNotFoundError, TypeError) as error:
                raise TorporError(str(error)) from error
            shown.done(1)
    return files


def refuse_bad(artifacts: Sequence[ArtifactSource], files: dict[ArtifactSource, Path]) -> None:
    """Raises TorporError with the reasons, if no instance could load some of them."""
    with bar("checking") as shown:
        shown.of(len(artifacts))
        found = load_check.refusals([files[one] for one in artifacts], lambda path: shown.done(1))
    refused = [(one.path, found[files[one]]) for one in artifacts if files[one] in found]
    if not refused:
        return
    told = "; ".join(f"{path}: {reason}" for path, reason in refused[:REFUSED_SHOWN])
    more = f"; and {len(refused) - REFUSED_SHOWN} more" if len(refused) > REFUSED_SHOWN else ""
    raise TorporError(f"nothing was uploaded, since an instance could not load {told}{more} (--no-check uploads it)")


def tell(place: UploadPlace, uploads: Sequence[PlannedUpload]) -> None:
    """Print a line for each upload: the object, and whether it is new."""
    for one in uploads:
        typer.echo(f"{place.url(one.key)}  {one.does}")
    if any(one.does is Stored.REPLACED for one in uploads):
        note = "torpor: instances that have an old version in memory keep it until `torpor reload MODEL`"
        typer.echo(note, err=True)
