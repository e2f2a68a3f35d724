"""Theirs, at the front: vendors' webhook formats."""
