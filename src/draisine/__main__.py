"""Run the command line `draisine` as `python -m draisine`."""

import sys

from draisine.cli import main

if __name__ == "__main__":
    sys.exit(main())
