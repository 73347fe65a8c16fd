"""Lineage with the SageMaker Python SDK: the classes that versions 2 and 3 both have, and version 3's resources."""

from importlib import import_module
from typing import Any

from tests.clients.helpers.sagemaker_endpoint import Steps


def lineage(step: Steps, session: Any, package: str) -> None:
    """`package` has the classes: version 3 has moved those of version 2."""
    action, artifact, association, context = (
        getattr(import_module(f"{package}.{name.lower()}"), name)
        for name in ("Action", "Artifact", "Association", "Context")
    )
    query = import_module(f"{package}.query")

    with step("Artifact, Action and Context: create, load, list"):
        data = artifact.create(
            artifact_name="rows", artifact_type="DataSet", source_uri="s3://any/rows", sagemaker_session=session
        )
        cleaned = action.create(
            action_name="clean", action_type="Cleaning", source_uri="s3://any/clean.py", sagemaker_session=session
        )
        city = context.create(
            context_name="houston", context_type="City", source_uri="s3://any/houston", sagemaker_session=session
        )
        assert artifact.load(data.artifact_arn, session).artifact_name == "rows"
        assert [one.artifact_name for one in artifact.list(source_uri="s3://any/rows", sagemaker_session=session)] == [
            "rows"
        ]
    with step("Association: create, list; LineageQuery"):
        for source, kind in ((data.artifact_arn, "ContributedTo"), (city.context_arn, "AssociatedWith")):
            association.create(
                source_arn=source,
                destination_arn=cleaned.action_arn,
                association_type=kind,
                sagemaker_session=session,
            )
        listed = association.list(destination_arn=cleaned.action_arn, sagemaker_session=session)
        assert sorted(one.association_type for one in listed) == ["AssociatedWith", "ContributedTo"]
        found = query.LineageQuery(session).query(
            start_arns=[cleaned.action_arn], direction=query.LineageQueryDirectionEnum.ASCENDANTS, include_edges=True
        )
        assert {one.arn for one in found.vertices} == {data.artifact_arn, city.context_arn}, found.vertices
        assert len(found.edges) == 2, found.edges
    with step("delete with their associations"):
        cleaned.delete(disassociate=True)
        data.delete()
        city.delete()


def lineage_resources(step: Steps, session: Any) -> None:
    """Version 3's resource classes."""
    from sagemaker.core.resources import Action, Artifact, Association, Context
    from sagemaker.core.shapes import ActionSource, ArtifactSource, ContextSource

    with step("resources: Artifact, Action and Context: create, get, update, get_all"):
        rows = ArtifactSource(source_uri="s3://any/v3-rows")
        data = Artifact.create(source=rows, artifact_type="DataSet", artifact_name="v3-rows")
        done = Action.create(
            action_name="v3-clean", source=ActionSource(source_uri="s3://any/clean.py"), action_type="Cleaning"
        )
        city = Context.create(
            context_name="v3-houston", source=ContextSource(source_uri="s3://any/houston"), context_type="City"
        )
        data.update(artifact_name="v3-cleaned")
        assert Artifact.get(data.artifact_arn).artifact_name == "v3-cleaned"
        assert [one.artifact_name for one in Artifact.get_all(source_uri="s3://any/v3-rows")] == ["v3-cleaned"]
        assert Action.get("v3-clean").action_type == "Cleaning"
        assert Context.get("v3-houston").context_type == "City"
    with step("resources: Association: add, get_all, delete"):
        client = session.sagemaker_client
        client.add_association(
            SourceArn=data.artifact_arn, DestinationArn=done.action_arn, AssociationType="ContributedTo"
        )
        [found] = Association.get_all(destination_arn=done.action_arn)
        assert (found.source_arn, found.association_type) == (data.artifact_arn, "ContributedTo"), found
        found.delete()
        assert not list(Association.get_all(destination_arn=done.action_arn))
    with step("resources: delete"):
        for one in (data, done, city):
            one.delete()
        assert not list(Artifact.get_all(source_uri="s3://any/v3-rows"))
