"""Choose parameters from judged results, and measure what each of them does."""
