"""What the deployment's own processes prove themselves with to each other: its authority, their certificates, and how
these are renewed and refused."""
