"""Preview what rules change over recorded queries, before they go live."""
