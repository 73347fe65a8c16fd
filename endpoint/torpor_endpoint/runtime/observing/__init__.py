"""What happens once a request has ended: metrics, ledger, and whoever else observes requests."""
