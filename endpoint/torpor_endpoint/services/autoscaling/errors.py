"""Application Auto Scaling's errors: one table of codes and texts. Every fault of a caller is HTTP 400 here."""

from enum import StrEnum

from torpor_endpoint.aws.errors import AwsError

TARGET = "service namespace: sagemaker, resource ID: {resource_id}, scalable dimension: {dimension}"


class Trouble(StrEnum):
    UNREGISTERED = "policy or schedule for a target that is not registered"
    NO_TARGET = "no such target"
    NO_POLICY = "no such policy"
    NO_ACTION = "no such schedule"
    INVALID = "parameter outside constraints"
    QUOTA = "quota"
    BAD_TOKEN = "page token"
    NOT_TAGGABLE = "tags of what is not there"
    TAGS = "too many tags"


# The first four texts are AWS's, and Terraform waits on the first.
ERRORS: dict[Trouble, tuple[str, str]] = {
    Trouble.UNREGISTERED: ("ObjectNotFoundException", f"No scalable target registered for {TARGET}"),
    Trouble.NO_TARGET: ("ObjectNotFoundException", f"No scalable target found for {TARGET}"),
    Trouble.NO_POLICY: ("ObjectNotFoundException", f"No scaling policy found for {TARGET}, policy name: {{name}}"),
    Trouble.NO_ACTION: (
        "ObjectNotFoundException",
        f"No scheduled action found for {TARGET}, scheduled action name: {{name}}",
    ),
    Trouble.INVALID: ("ValidationException", "{why}"),
    Trouble.QUOTA: ("LimitExceededException", "A scalable target can have at most {limit} {what}."),
    Trouble.BAD_TOKEN: ("InvalidNextTokenException", "The next token is not one that this request was given."),
    Trouble.NOT_TAGGABLE: ("ResourceNotFoundException", "Resource {arn} does not exist."),
    Trouble.TAGS: ("TooManyTagsException", "A scalable target can have at most 50 tags."),
}


def error(trouble: Trouble, **fields: object) -> AwsError:
    code, text = ERRORS[trouble]
    resource = {"ResourceName": fields["arn"]} if "arn" in fields else None
    return AwsError(code, 400, text.format(**fields), resource)


def invalid(why: str) -> AwsError:
    return error(Trouble.INVALID, why=why)
