"""Run methods over queries, and store what they select."""
