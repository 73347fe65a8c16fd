"""AWS STS: who the caller is, as far as one account can say."""
