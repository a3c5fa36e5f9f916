"""The library over HTTP: an API, and a page that uses it."""
