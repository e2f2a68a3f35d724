"""Theirs, at the back: the CRMs. A vendor's words and limits are known here and nowhere else."""
