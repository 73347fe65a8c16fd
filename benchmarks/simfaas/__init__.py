"""SimFaaS's twenty experiments on AWS Lambda, and what its model gives for them on Torpor's kernel."""
