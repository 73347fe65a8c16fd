"""Lists the known differences of lineage from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

TEXT = "AWS's text of the refusal is not known."
DIFFERENCES: Final[Mapping[str, str]] = {
    "AddAssociation": f"An association that would make an entity come of itself is refused, and so is a second one between the same two. {TEXT}",
    "CreateArtifact": f"One artifact has a SourceUri: a second one is refused with its ARN. {TEXT}",
    "DeleteArtifact": f"An entity that has associations is not deleted, as with DeleteAction and DeleteContext. {TEXT}",
    "DescribeArtifact": "CreatedBy and LineageGroupArn are not told, as of actions and contexts.",
    "UpdateArtifact": "Entities that are made of training jobs, packages and endpoints are as these are: no call changes or deletes them, nor actions and contexts.",
    "QueryLineage": "Walks through what callers made, and through what training jobs, model packages and endpoints are: a job's image, data and model, a package and its group, an endpoint and its deployment. "
    "Names of those are `<name>-aws-<kind>`, without AWS's prefix of random letters. An endpoint's context comes of its deployment, and that of its models. Other jobs are not in it.",
}
