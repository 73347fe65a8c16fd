"""SimulatePrincipalPolicy, which the SageMaker SDK calls before it deploys: it allows every action."""

from itertools import product
from typing import Any

from torpor_endpoint.aws.calls import Call
from torpor_endpoint.services.iam.context import Iam
from torpor_endpoint.services.iam.paging import page


def simulate_principal_policy(iam: Iam, call: Call) -> dict[str, Any]:
    """Answer `allowed` for every action: it is true, since the endpoint verifies no signature and reads no policy."""
    pairs = enumerate(product(call.params["ActionNames"], call.params.get("ResourceArns", ["*"])))
    found, more = page(pairs, lambda numbered: f"{numbered[0]:06}", call.params)
    results = [
        {"EvalActionName": action, "EvalResourceName": resource, "EvalDecision": "allowed"}
        for _, (action, resource) in found
    ]
    return {"EvaluationResults": results, **more}
