"""`python -m muniment.surfaces.cli`."""

import sys

from muniment.surfaces.cli import main

if __name__ == "__main__":
    sys.exit(main())
