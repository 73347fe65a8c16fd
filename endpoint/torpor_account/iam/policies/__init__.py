"""Policies: those inside a holder, those that holders share, AWS's own, and simulations of what they allow."""
