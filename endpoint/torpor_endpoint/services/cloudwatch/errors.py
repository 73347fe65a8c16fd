"""CloudWatch's own errors, with the texts that its callers know."""

from torpor_endpoint.aws.errors import AwsError


def invalid_value(parameter: str, value: object, why: str = "") -> AwsError:
    text = f"The value {value} for parameter {parameter} is invalid."
    return AwsError("InvalidParameterValue", 400, f"{text} {why}".rstrip())


def invalid_combination(message: str) -> AwsError:
    return AwsError("InvalidParameterCombination", 400, message)


def missing(message: str) -> AwsError:
    return AwsError("MissingParameter", 400, message)


def invalid_query(message: str) -> AwsError:
    """GetMetricData answers whatever is wrong with a query in this one way."""
    return AwsError("ValidationError", 400, message)


def invalid_token() -> AwsError:
    return AwsError("InvalidNextToken", 400, "The next token specified is invalid.")


def backwards() -> AwsError:
    return invalid_combination("The parameter StartTime must be less than the parameter EndTime.")


def too_many_datapoints(asked: int, limit: int) -> AwsError:
    return invalid_combination(
        f"You have requested up to {asked:,} datapoints, which exceeds the limit of {limit:,}. You may reduce the "
        "datapoints requested by increasing Period, or decreasing the time range."
    )
