"""The errors of CloudWatch Logs, with its texts."""

from torpor_endpoint.aws.errors import AwsError


def no_such_group() -> AwsError:
    return AwsError("ResourceNotFoundException", 400, "The specified log group does not exist.")


def no_such_stream() -> AwsError:
    return AwsError("ResourceNotFoundException", 400, "The specified log stream does not exist.")


def group_exists() -> AwsError:
    return AwsError("ResourceAlreadyExistsException", 400, "The specified log group already exists")


def too_many_tags(arn: str, limit: int) -> AwsError:
    text = f"A resource has at most {limit} tags."
    return AwsError("TooManyTagsException", 400, text, {"resourceName": arn})


def invalid(message: str) -> AwsError:
    return AwsError("InvalidParameterException", 400, message)


def invalid_token() -> AwsError:
    return invalid("The specified nextToken is invalid.")
