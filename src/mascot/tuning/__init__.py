"""Choose parameters from judged results, and preview what rules change."""
