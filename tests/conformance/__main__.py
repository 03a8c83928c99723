"""``python -m tests.conformance``."""

import sys

from tests.conformance.runner import main

sys.exit(main())
