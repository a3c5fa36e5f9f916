<<<<<<< HEAD
"""Choose parameters from judged results, and preview what rules change."""
=======
"""Measure what each parameter of a call does."""
>>>>>>> r/files
