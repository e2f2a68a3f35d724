"""Measurements that anybody can repeat: `python -m bench intake`, `python -m bench flow`. Results lie in results/."""
