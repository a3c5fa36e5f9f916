"""Choose parameters from judged results."""
