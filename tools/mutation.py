"""Mutation testing of what decides: `make mutation` runs mutmut for at most half an hour and says what survived.

Results are kept in `mutants/`, so that a second run goes on where the first one was stopped. Exit 1 if a mutant that was tried
survived beyond what is allowed, or if any is left untried; what survives and why stands in `docs/mutation.md`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
MUTANTS: Final = ROOT / "mutants"
BOX_S: Final = 30 * 60
LEAST_KILLED_PCT: Final = 95
NICENESS: Final = 15
SURVIVED: Final = (0, 33)
"""mutmut's exit codes of a mutant whose tests all passed, and of one that no test reaches."""


def run(names: list[str]) -> None:
    """Try mutants, those named or all, one after another and for half an hour at most."""
    command = [str(Path(sys.executable).with_name("mutmut")), "run", "--max-children", "1", *names]
    os.nice(NICENESS)
    try:
        subprocess.run(command, cwd=ROOT, check=False, timeout=BOX_S, stdout=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        print(f"stopped after {BOX_S // 60} minutes; run it again to go on")


def results() -> dict[str, dict[str, int | None]]:
    """Exit code by mutant by file; None for one that was not tried yet."""
    found = {}
    for path in sorted(MUTANTS.rglob("*.py.meta")):
        codes = json.loads(path.read_text("utf-8"))["exit_code_by_key"]
        if codes:
            found[str(path.relative_to(MUTANTS)).removesuffix(".meta")] = codes
    return found


def report(found: dict[str, dict[str, int | None]]) -> bool:
    """Print a line per file, the sum, and what survived; whether enough was killed and nothing is left untried."""
    lines = [(name, *_counts(codes)) for name, codes in found.items()]
    total = ("all", *(sum(line[at] for line in lines) for at in (1, 2, 3)))
    for name, mutants, tried, survived in (*lines, total):
        killed = f"{100 * (tried - survived) / tried:.1f} %" if tried else "-"
        print(f"{name:40} {mutants:5} mutants, {tried:5} tried, {survived:4} survived, killed {killed}")
    for codes in found.values():
        print(*(f"  {name}" for name, code in codes.items() if code in SURVIVED), sep="\n", end="\n" if codes else "")
    _, mutants, tried, survived = total
    return tried == mutants > 0 and 100 * (tried - survived) >= LEAST_KILLED_PCT * tried


def _counts(codes: dict[str, int | None]) -> tuple[int, int, int]:
    """Mutants of a file, those tried, and those that survived."""
    tried = [code for code in codes.values() if code is not None]
    return len(codes), len(tried), sum(code in SURVIVED for code in tried)


if __name__ == "__main__":
    if sys.argv[1:] != ["--report"]:
        run(sys.argv[1:])
    sys.exit(0 if report(results()) else 1)
