"""Chooses a model of a group by what a request needs: latency, accuracy, cost. Endpoints and simulations share it."""
