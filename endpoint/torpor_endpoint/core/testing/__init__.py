"""What tests do to an endpoint, as values: where its clock stops on a way, and which faults strike it."""
