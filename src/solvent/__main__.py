"""`python -m solvent` is the command `solvent`."""

from __future__ import annotations

import sys

from solvent.cli.main import main

sys.exit(main())
