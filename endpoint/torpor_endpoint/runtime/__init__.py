"""The runtime API: InvokeEndpoint from its bytes to an instance and back."""
