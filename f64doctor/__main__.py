"""Runs f64doctor as ``python -m f64doctor``."""

import sys

from f64doctor.cli import main

if __name__ == "__main__":
    sys.exit(main())
