"""Turn the response of a search engine into candidates."""
