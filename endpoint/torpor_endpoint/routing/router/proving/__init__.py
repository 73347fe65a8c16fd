"""How a router proves itself: to its control by signatures, and to instances by a certificate."""
