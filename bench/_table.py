"""How benchmarks show their figures: a table for people, or one JSON document. Nothing here asserts a speed."""

import argparse
import cProfile
import gc
import json
import pstats
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

HEAD: Final = ("measure", "figure", "", "beside it", "", "ratio", "target")
PROFILE_LINES: Final = 25


@dataclass(frozen=True, slots=True)
class Figure:
    """One line: our figure, and the peer's of the same run where there is one. `target` is the design's, in words."""

    name: str
    value: float
    unit: str
    peer: float | None = None
    beside: str = ""
    target: str = ""


def parser(doc: str | None) -> argparse.ArgumentParser:
    """A command line with what all benchmarks have."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--json", action="store_true", help="print one JSON document")
    return made


def report(figures: list[Figure], *, as_json: bool) -> None:
    """Print the figures."""
    if as_json:
        print(json.dumps([asdict(figure) for figure in figures]))
        return
    rows = [HEAD, *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    for row in rows:
        cells = (
            row[0].ljust(widths[0]),
            row[1].rjust(widths[1]),
            row[2].ljust(widths[2]),
            row[3].ljust(widths[3]),
            row[4].rjust(widths[4]),
            row[5].rjust(widths[5]),
            row[6],
        )
        print("  ".join(cells).rstrip())


def _row(figure: Figure) -> tuple[str, ...]:
    """One line's cells."""
    peer = "" if figure.peer is None else _number(figure.peer)
    ratio = "" if not figure.peer else f"{figure.value / figure.peer:.2f}"
    return figure.name, _number(figure.value), figure.unit, figure.beside, peer, ratio, figure.target


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def percentiles(seconds: list[float]) -> tuple[float, float]:
    """p50 and p99 in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100)
    return cuts[49] * 1e3, cuts[98] * 1e3


def rate(work: Callable[[], object], count: int, rounds: int) -> float:
    """Items a second in the fastest of some rounds, because other work on the machine only slows one."""
    found = []
    for _ in range(rounds):
        gc.collect()
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return count / min(found)


def profile(work: Callable[[], object]) -> None:
    """Where the time goes, most own time first."""
    profiler = cProfile.Profile()
    profiler.runcall(work)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(PROFILE_LINES)
