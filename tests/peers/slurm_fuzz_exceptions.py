"""Differences of the fuzz that are meant: (kind, pattern of the case and of what differs, reason)."""

EXCEPTIONS = [
]
