"""`python -m draisine` is the command `draisine`."""

import sys

from draisine.cli import main

if __name__ == "__main__":
    sys.exit(main())
