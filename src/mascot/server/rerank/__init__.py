"""The re-ranking service: requests, their cost, and their routes."""
