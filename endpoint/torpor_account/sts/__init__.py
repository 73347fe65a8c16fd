"""AWS STS: who the caller is, and the temporary credentials of roles and users of this account."""
