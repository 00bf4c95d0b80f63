"""The arguments of a run: everything that decides its result, read and checked before anything is written."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from services.agent.sources import SourceError, SourceSpec, check_source, log_argument, parse_source, source_warnings
from services.desk.errors import UsageError
from services.desk.sizes import check_sizes
from services.desk.steps import OPENING_REASON, Plan, watch_fault
from services.desk.window import beyond, window
from services.gate.policy import LoadedPolicy, PolicyError, load_policy
from services.simulator.orders import Terms
from services.simulator.prices import PriceFile, PriceFileError, load_prices
from services.simulator.scenario import NO_SCENARIO, Scenario, scenario_hash
from services.simulator.scenario_file import ScenarioError, check_scenario, load_scenario
from services.simulator.state import Exchange
from shared.protocol.events import BookArgs, PolicyAdopted, RunArgs
from shared.protocol.market import Instrument
from shared.protocol.money import Exact

if TYPE_CHECKING:
    from collections.abc import Iterable

SERVICES: Final = Path(__file__).resolve().parent.parent
BUNDLED_DATA: Final = SERVICES / "simulator" / "data" / "us-stocks-daily.csv"
DEMO_POLICY: Final = SERVICES / "desk" / "data" / "demo-policy.toml"
DEFAULT_SOURCES: Final = ("equal_weight", "momentum", "rule_breaker")
DEPOSIT: Final = Exact(10_000)
MAX_BOOKS: Final = 20
MAX_WARNINGS: Final = 10
CURRENCY: Final = "USD"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What was asked for on the command line, as far as it decides the result."""

    data: Path = BUNDLED_DATA
    days: int | None = None
    start: str | None = None
    end: str | None = None
    sources: tuple[str, ...] = ()
    seed: int = 0
    policy: Path = DEMO_POLICY
    scenario: Path | None = None
    dry: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that can start: its plan, the prices and the sessions of them that it trades, and its sources."""

    plan: Plan
    prices: PriceFile
    window: range
    sources: tuple[SourceSpec, ...]
    found: tuple[str, ...] = ()
    scenario_file: Path | None = None
    policy_file: Path | None = None

    @property
    def is_bundled(self) -> bool:
        """Whether it trades the data that comes with the package."""
        return self.prices.path == BUNDLED_DATA

    def warnings(self) -> list[str]:
        """What was found in prices and policy that a person should know, the first ones in full."""
        found = self.found
        more = [f"and {len(found) - MAX_WARNINGS} more warnings"] if len(found) > MAX_WARNINGS else []
        return [*found[:MAX_WARNINGS], *more]


def prepare(options: RunOptions) -> Prepared:
    """Read and check all that the options name; raises `UsageError`. Writes nothing."""
    sources = _sources(options.sources or DEFAULT_SOURCES)
    try:
        prices = load_prices(options.data)
    except PriceFileError as error:
        raise UsageError(str(error)) from error
    sessions = window(prices.sessions, options.days, options.start, options.end)
    scenario = _scenario(options.scenario, prices)
    loaded = _policy(options.policy, Exchange(prices, Terms(), scenario))
    policy = PolicyAdopted(loaded.policy, loaded.stated, loaded.policy_hash, OPENING_REASON)
    args = RunArgs(
        data_sha256=prices.sha256,
        sessions=tuple(prices.sessions[at].isoformat() for at in sessions),
        books=tuple(BookArgs(spec.book, spec.kind, log_argument(spec.kind, spec.argument), DEPOSIT) for spec in sources),
        seed=options.seed,
        policy_hash=policy.policy_hash,
        scenario=scenario_hash(scenario),
        dry=options.dry,
    )
    unused = (told for spec in sources for told in source_warnings(spec.kind, spec.argument, args.sessions))
    plan = Plan(args, policy, scenario=scenario)
    check_sizes(plan, len(prices.symbols))
    found = (*beyond(prices.sessions, options.start, options.end), *unused, *prices.warnings, *loaded.warnings)
    return Prepared(plan, prices, sessions, sources, found, options.scenario, options.policy)


def _sources(texts: "Iterable[str]") -> tuple[SourceSpec, ...]:
    """The sources asked for, each of which can be used; no two for one book."""
    found: dict[str, SourceSpec] = {}
    for text in texts:
        try:
            spec = parse_source(text)
            check_source(spec.kind, spec.argument)
        except SourceError as error:
            raise UsageError(str(error)) from error
        if spec.book in found:
            raise UsageError(f"--source {text}: the book {spec.book} has a source already; name another: {spec.kind}@BOOK")
        found[spec.book] = spec
    if len(found) > MAX_BOOKS:
        raise UsageError(f"{len(found)} sources are too many for one desk: at most {MAX_BOOKS}")
    return tuple(found.values())


def _scenario(path: Path | None, prices: PriceFile) -> Scenario:
    """The scenario, checked against the prices and the hours of its sessions."""
    if path is None:
        return NO_SCENARIO
    try:
        scenario = load_scenario(path)
        check_scenario(scenario, prices, Terms())
    except ScenarioError as error:
        raise UsageError(f"--scenario: {error}") from error
    for day in prices.sessions:
        told = watch_fault(scenario, day.isoformat())
        if told is not None:
            raise UsageError(f"--scenario: {path}: {told}")
    return scenario


def _policy(path: Path, exchange: Exchange) -> LoadedPolicy:
    """The policy; without a universe of its own it has every symbol of the data."""
    symbols = exchange.file.symbols
    universe = tuple(Instrument(name, exchange.exchange_of(name), exchange.currency_of(name)) for name in symbols)
    try:
        return load_policy(path, default_universe=universe, book_currency=CURRENCY)
    except PolicyError as error:
        raise UsageError(str(error)) from error


def difference(wanted: RunArgs, found: RunArgs, *, with_policy: bool = True) -> str | None:
    """What differs between two runs' arguments, in words; None if they are the same run.

    A run that has begun goes on under the policy in force, which only `propdesk policy adopt` changes: there the file's does not
    matter (`with_policy` false).
    """
    names = {
        "data_sha256": "the price data",
        "sessions": "the sessions",
        "books": "the books and sources",
        "seed": "the seed",
        "policy_hash": "the policy",
        "scenario": "the scenario",
        "dry": "whether runs are dry",
    }
    if not with_policy:
        del names["policy_hash"]
    differing = [words for name, words in names.items() if getattr(wanted, name) != getattr(found, name)]
    return ", ".join(differing) or None
