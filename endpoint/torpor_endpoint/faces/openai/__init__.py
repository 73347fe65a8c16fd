"""The face of OpenAI's API, whose requests name their model in their bodies."""
