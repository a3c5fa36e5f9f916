"""Take photographs out of a library: albums, exports, saved sets, overviews."""
