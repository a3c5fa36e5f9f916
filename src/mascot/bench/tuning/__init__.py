"""Choose parameters from judged results, by cross-validation."""
