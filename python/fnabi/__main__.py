"""``python -m fnabi`` is the command ``fnabi``."""

import sys

from fnabi.cli import main

sys.exit(main())
