"""`torpor why-denied` prints a denial as lines, and refuses a question that is none."""

from typer.testing import CliRunner

from torpor.cli import app
from torpor.cli.commands.reports.why_denied import lines
from torpor_account.core.access.explaining.denial import ContextKey, Denial, PolicyLookedAt

POLICIES = (PolicyLookedAt("own", "identity-based policy", "no statement"), PolicyLookedAt("b", "session policy", "x"))
KEYS = (ContextKey("aws:x", ()), ContextKey("aws:y", ("1", "2")))


def test_a_denial_is_told_line_by_line() -> None:
    told = list(lines(Denial("ann", "s3:GetObject", None, "message", "why", POLICIES, KEYS, "r1", 0.0)))
    assert told == [
        ("denied", "message"),
        ("because", "why"),
        ("request", "r1, at 1970-01-01 00:00:00 UTC"),
        ("caller", "ann"),
        ("action", "s3:GetObject"),
        ("resource", "(any: the request does not name it in a way that Torpor reads)"),
        ("policies", "own (identity-based policy): no statement"),
        ("", "b (session policy): x"),
        ("keys", "aws:x = (absent)"),
        ("", "aws:y = 1, 2"),
    ]


def test_one_request_is_named_or_the_last_one() -> None:
    for arguments in ([], ["r1", "--last"]):
        done = CliRunner().invoke(app, ["why-denied", *arguments])
        assert (done.exit_code, "name one REQUEST-ID" in done.output) == (2, True)
