"""Converters for responses of search engines, tables of vector databases, and components for frameworks."""
