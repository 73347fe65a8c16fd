"""Forms of models that predict on a device: they enter it, and leave it while what they are made of stays in memory."""
