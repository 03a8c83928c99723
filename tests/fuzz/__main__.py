"""``python -m tests.fuzz [--seconds 600] [--seed N]``: fuzz until the time is over or something unlawful is found."""

from __future__ import annotations

import argparse
import collections
import random
import sys
import time

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st

from interpreter import clear_cache
from tests.fuzz.checks import check_declaration
from tests.fuzz.inputs import VALUES, declarations


def main() -> int:
    """Run rounds of examples, each with its own seed, and print how often each outcome came."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    outcomes: collections.Counter[str] = collections.Counter()
    turn = 0
    while time.monotonic() < end:
        number = options.seed + turn
        turn += 1
        print(f"\r--seed {number}", end="", file=sys.stderr, flush=True)

        @with_seed(number)
        @settings(
            max_examples=200,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(declarations(), st.lists(VALUES, min_size=1, max_size=3))
        def round_of_examples(text: str, values: list[object]) -> None:
            outcomes[check_declaration(text, values)] += 1

        try:
            round_of_examples()
        except BaseException:
            print(f"found with --seed {number}", file=sys.stderr)
            raise
        clear_cache()
    print(f"{sum(outcomes.values())} examples, seeds {options.seed} to {options.seed + turn - 1}")
    for outcome, count in outcomes.most_common():
        print(f"{count:8} {outcome}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
