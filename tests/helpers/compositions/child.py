"""A child process of `fuzz`: checks the programs of some seeds, and prints a line of JSON for each message."""

import argparse
import json
import warnings

from helpers.compositions.check import Counts, check_program
from helpers.compositions.generate import generate
from helpers.compositions.shrink import script, shrink


def main() -> None:
    """Check programs; say which seed begins, what fails, and counts at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("stop", type=int)
    parser.add_argument("--features", default="")
    parser.add_argument("--without", default="")
    parser.add_argument("--shrink", type=float, default=0.0)
    options = parser.parse_args()
    features, without = (tuple(filter(None, each.split(","))) for each in (options.features, options.without))
    warnings.simplefilter("ignore")
    counts = Counts()
    for seed in range(options.first, options.stop):
        print(json.dumps({"begin": seed}), flush=True)
        finding = check_program(generate(seed, features, without), seed, counts=counts)
        if finding:
            smaller = shrink(finding, options.shrink) if options.shrink else finding
            print(json.dumps({"seed": seed, "mode": str(smaller.mode), "text": script(smaller)}), flush=True)
    print(json.dumps(vars(counts)), flush=True)


if __name__ == "__main__":
    main()
