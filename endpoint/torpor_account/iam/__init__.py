"""IAM: it keeps users, groups, roles, policies and access keys, and simulates policies. It decides no call:
`core.access` does, where `--auth` asks."""
