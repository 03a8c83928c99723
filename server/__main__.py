"""``python -m server`` does what ``innkeeper serve`` does."""

import sys

from server.cli import main

sys.exit(main(["serve", *sys.argv[1:]]))
