"""Checks the policy of a bucket as S3 does, and says whether it lets the public in."""

from torpor_account.core.access.conditions import BadPolicy, ConditionTest
from torpor_account.core.access.known_keys import check_condition_keys
from torpor_account.core.access.policy_statements import ANYONE, AccessPolicy, AccessStatement, read_policy
from torpor_account.core.access.text_patterns import TextPattern

LIMITING = frozenset(
    (
        *(
            "aws:principalaccount",
            "aws:principalarn",
            "aws:principalorgid",
            "aws:principalorgpaths",
            "aws:sourceaccount",
        ),
        *("aws:sourcearn", "aws:sourceip", "aws:sourcevpc", "aws:sourcevpce", "aws:userid"),
        *("s3:dataaccesspointaccount", "s3:dataaccesspointarn"),
    )
)
"""The keys that keep the public out, where a condition has fixed values for them.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html
"""
EVERYWHERE = ("0.0.0.0/0", "::/0")


def checked_policy(document: str, bucket: str) -> AccessPolicy:
    """The policy. Raises BadPolicy, also for one that speaks of another bucket."""
    policy = read_policy(document, "policy", kind="resource")
    check_condition_keys(policy)
    for statement in policy.statements:
        for text in () if statement.resources is None else statement.resources.texts:
            if text != ANYONE and not _is_of(text, bucket):
                raise BadPolicy(f"Policy has invalid resource: {text}")
    return policy


def is_public(policy: AccessPolicy) -> bool:
    """Whether it allows anything to everybody."""
    return any(_lets_anyone(statement) for statement in policy.statements)


def _is_of(resource: str, bucket: str) -> bool:
    service, _, path = resource.partition(":::")
    name = TextPattern.parsed(path.partition("/")[0], variables=False)
    return service.endswith(":s3") and name.has(bucket, lambda key: None)


def _lets_anyone(statement: AccessStatement) -> bool:
    principals = statement.principals
    anyone = principals is not None and (principals.negated or ANYONE in principals.of_aws)
    return anyone and not statement.denies and not any(map(_limits, statement.conditions))


def _limits(condition: ConditionTest) -> bool:
    positive = not (condition.negated or condition.if_exists or condition.set_of or condition.operator == "Null")
    return positive and condition.key in LIMITING and all(_is_fixed(condition.key, one) for one in condition.values)


def _is_fixed(key: str, value: str) -> bool:
    """The ARN of an access point needs a fixed account alone."""
    parts = value.split(":")
    text = parts[4] if key == "s3:dataaccesspointarn" and len(parts) > 4 else value
    return text not in EVERYWHERE and not set("*?$") & set(text)
