"""What holds for every source, whatever it sees."""

from datetime import date, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from services.agent.answers import answer_of
from services.agent.runs import started, think, view_of
from services.agent.sources import Close, Proposal, RunView, Source
from services.agent.sources.equal_weight import EqualWeight
from services.agent.sources.momentum import Momentum
from services.agent.sources.rule_breaker import RuleBreaker
from shared.protocol.events import ProposalMade
from shared.protocol.money import Exact
from tests.support.scribe import SESSION
from tests.unit.agent.walk import Walk

SOURCES: tuple[Source, ...] = (EqualWeight(), Momentum(), RuleBreaker())
SYMBOLS = ("AAA", "BBB", "CCC", "DDD", "EEE", "FFF", "GGG")
DAYS = tuple((date(2022, 9, 30) - timedelta(days=back)).isoformat() for back in range(130, -1, -1))

prices = st.decimals("0.01", "5000", places=2).map(Exact)
shares = st.one_of(st.integers(1, 500).map(Exact), st.decimals("0.1", "500", places=1).map(Exact))
known = st.one_of(st.none(), prices)


@st.composite
def views(draw: st.DrawFn) -> RunView:
    """Any view: some names unpriced, some held, history of any length, in any order of the dicts."""
    names = draw(st.permutations(SYMBOLS))
    references = {f"{name}:USD": price for name in names if (price := draw(known)) is not None}
    held = {f"{name}:USD": draw(shares) for name in draw(st.lists(st.sampled_from(SYMBOLS), unique=True))}
    lengths = {f"{name}:USD": draw(st.sampled_from((0, 126, 127, 128))) for name in names}
    growth = {key: draw(prices) for key in lengths}
    history = {
        key: tuple(Close(day, growth[key] if day == DAYS[-1] else Exact(10)) for day in DAYS[len(DAYS) - length :])
        for key, length in lengths.items()
    }
    index = draw(st.integers(0, 8))
    sessions = tuple((date(2022, 10, 3) + timedelta(days=day)).isoformat() for day in range(9))
    value = draw(st.one_of(st.none(), st.decimals("0.01", "1000000", places=4).map(Exact)))
    return RunView(
        session=sessions[index],
        index=index,
        sessions=sessions,
        names=tuple(f"{name}:USD" for name in names),
        cash=Exact(10000),
        holdings=held,
        value=value,
        references=references,
        fx={"USD": Exact(1)},
        history=history,
    )


@given(view=views(), seed=st.randoms(use_true_random=False))
def test_a_proposal_does_not_depend_on_the_order_of_dicts_and_names(view: RunView, seed: object) -> None:
    def shuffled(items: dict[str, object]) -> dict[str, object]:
        rows = list(items.items())
        seed.shuffle(rows)  # type: ignore[attr-defined]
        return dict(rows)

    other = replace(
        view,
        names=tuple(shuffled(dict.fromkeys(view.names))),
        holdings=shuffled(dict(view.holdings)),
        references=shuffled(dict(view.references)),
        history=shuffled(dict(view.history)),
    )

    for source in SOURCES:
        assert source.propose(view) == source.propose(other)


@given(view=views())
def test_orders_stand_in_symbol_order_in_whole_shares_within_one_percent_and_sell_no_more_than_held(view: RunView) -> None:
    for source in (EqualWeight(), Momentum()):
        proposal = source.propose(view)
        assert [order.symbol for order in proposal.orders] == sorted({order.symbol for order in proposal.orders})
        for order in proposal.orders:
            key, quantity, limit = f"{order.symbol}:USD", Decimal(order.quantity or "0"), Decimal(order.limit or "0")
            reference = view.references[key]
            assert quantity == int(quantity) >= 1
            assert order.side == "SELL" or limit <= reference * Decimal("1.01")
            assert order.side == "BUY" or reference * Decimal("0.99") <= limit
            assert order.side == "BUY" or quantity <= view.holdings[key]


@given(view=views())
def test_equal_weight_lands_within_one_share_below_its_target_if_all_fills(view: RunView) -> None:
    if view.value is None:
        return
    held = dict(view.holdings)
    for order in EqualWeight().propose(view).orders:
        change = Decimal(order.quantity or "0")
        key = f"{order.symbol}:USD"
        held[key] = Exact(held.get(key, Exact(0)) + (change if order.side == "BUY" else -change))
    if view.index < 2:
        for key, reference in view.references.items():
            target = view.value / len(view.names) / reference
            assert abs(held.get(key, Exact(0)) - int(target)) < 1


@given(view=views())
def test_every_answer_of_a_built_in_source_can_stand_in_the_log(view: RunView) -> None:
    for source in SOURCES:
        outcome = think(source, view)
        assert isinstance(outcome, Proposal)
        assert isinstance(answer_of("x", outcome), ProposalMade)


@given(later=st.dictionaries(st.sampled_from(("AAA:USD", "BBB:USD")), st.lists(prices, min_size=1, max_size=5)))
def test_a_proposal_does_not_depend_on_bars_of_the_running_session_or_later(later: dict[str, list[Exact]]) -> None:
    walk = Walk("momentum")
    walk.take(started(walk.state, walk.item))
    walk.cleared()
    past = {key: tuple(Close(day, Exact(10 + at)) for at, day in enumerate(DAYS)) for key in ("AAA:USD", "BBB:USD")}
    first = date.fromisoformat(SESSION)
    known = {
        key: (*closes, *(Close((first + timedelta(days=at)).isoformat(), price) for at, price in enumerate(later.get(key, ()))))
        for key, closes in past.items()
    }

    without, withit = (Momentum().propose(view_of(walk.state, walk.run, history)) for history in (past, known))

    assert without.orders
    assert without == withit
