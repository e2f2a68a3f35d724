"""`python -m crmsim` and the console script."""

import sys

from crmsim.cli import main

if __name__ == "__main__":
    sys.exit(main())
