"""``python -m bench [NAME…]``: run the benchmarks one after another, each in a process of its own.

A NAME is a module of this folder, with or without its ending (``commands`` is ``commands_bench``). Without one, all run.
npm peers are installed on demand into ``bench/peers/node_modules``; where Node or the registry is missing, their
comparison is left out with a notice. A missed goal is reported at the end and is no failure of the run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers"
PACKAGES = ("zod@4.4.3", "lodash@4.18.1", "quickjs-emscripten@0.31.0")
NPM_SECONDS = 180


def modules() -> list[str]:
    """The benchmarks of this folder, by module name."""
    return sorted(path.stem for path in (*HERE.glob("*_bench.py"), *HERE.glob("zod_*.py")))


def chosen(names: list[str], known: list[str]) -> list[str]:
    """The modules that ``names`` mean, in the order given; all without a name."""
    found: list[str] = []
    for name in names:
        stem = name.removesuffix(".py")
        match = next((module for module in known if module in (stem, f"{stem}_bench")), None)
        if match is None:
            raise SystemExit(f"no benchmark {name!r}; known are {', '.join(known)}")
        found.append(match)
    return found or known


def peers() -> Path | None:
    """A folder with the npm peers, installed when they are missing; ``None`` with a notice where that cannot be had."""
    packages = [package.rpartition("@")[0] for package in PACKAGES]
    if shutil.which("node") is None:
        print("notice: Node is not installed; the comparisons with npm packages are left out")
        return None
    if all((PEERS / "node_modules" / name).is_dir() for name in packages):
        return PEERS
    npm = shutil.which("npm")
    if npm is None:
        print("notice: npm is not installed; the comparisons with npm packages are left out")
        return None
    print(f"installing {', '.join(PACKAGES)} …", flush=True)
    command = [npm, "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", *PACKAGES]
    try:
        subprocess.run(command, cwd=PEERS, check=True, capture_output=True, timeout=NPM_SECONDS)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"notice: the npm packages could not be installed ({type(error).__name__}); their comparison is left out")
        return None
    return PEERS


def main() -> int:
    """Run the chosen benchmarks; the status is 1 when one broke, goals missed are only told."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(modules())}")
    wanted = chosen(parser.parse_args().names, modules())
    folder = peers() if {"zod_parse", "sandbox_bench"} & set(wanted) else None
    environment = dict(os.environ)
    if folder is not None:
        environment["QUICKJS_EMSCRIPTEN"] = str(folder)
    broken: list[str] = []
    missed: list[str] = []
    for number, name in enumerate(wanted, 1):
        print(f"== {name} ({number} of {len(wanted)})", flush=True)
        options = ["--peer", str(folder)] if name == "zod_parse" and folder is not None else []
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", f"bench.{name}", *options],
            cwd=HERE.parent,
            env=environment,
            stderr=subprocess.PIPE,
            check=False,
        )
        error = done.stderr.decode("utf-8", "replace")
        sys.stderr.write(error)
        # A goal missed and a crash both end with 1; only the crash leaves a traceback.
        if done.returncode != 0:
            (broken if done.returncode != 1 or "Traceback" in error else missed).append(name)
        print(f"   {time.monotonic() - started:.1f} s", flush=True)
    if missed:
        print(f"goals missed in: {', '.join(missed)}")
    if broken:
        print(f"broken: {', '.join(broken)}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
