"""Who may do what, as pure rules: signatures, policies, and the rights that each operation needs."""
