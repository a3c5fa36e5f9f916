"""Attacks by files, faults and requests. Each one found a defect once."""
