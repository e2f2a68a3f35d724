"""Ours, outside the process: PostgreSQL, and the journals that may stand before it."""
