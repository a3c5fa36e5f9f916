"""Converters for responses of search engines and vector databases, and components for frameworks."""
