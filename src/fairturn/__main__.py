"""python -m fairturn"""

from fairturn.cli import main

main()
