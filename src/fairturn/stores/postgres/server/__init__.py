"""The parts that embedded.py starts PostgreSQL with: account, binaries, places, lock, postmaster."""
