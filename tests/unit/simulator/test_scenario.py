"""What a scenario may say, when each entry holds, and what is refused in which words."""

import re

import pytest

from services.simulator.orders import Terms
from services.simulator.scenario import NO_SCENARIO, IdleScript, Moment, Scenario, WatchScript, When, scenario_hash
from services.simulator.scenario_file import ScenarioError, check_scenario, load_scenario
from tests.unit.simulator.worlds import MONDAY, TUESDAY, WEDNESDAY, price_file

PRICES = "2022-10-03,A,,,,100,\n2022-10-04,A,,,,110,"


def moment(session: str = TUESDAY, step: str = "slot", time: str = "10:30") -> Moment:
    return Moment(session, step, time)


def read(folder, text: str, name: str = "s.toml") -> Scenario:
    path = folder / name
    path.write_text(text, "utf-8")
    return load_scenario(path)


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        (When(), True),
        (When(session=TUESDAY), True),
        (When(session=MONDAY), False),
        (When(session=MONDAY, through=TUESDAY), True),
        (When(session=MONDAY, through="end"), True),
        (When(session=WEDNESDAY, through="end"), False),
        (When(step="slot"), True),
        (When(step="close"), False),
        (When(session=TUESDAY, at="10:30"), True),
        (When(session=TUESDAY, at="10:31"), False),
        (When(since="10:30", until="10:30"), True),
        (When(since="10:31"), False),
        (When(until="10:29"), False),
    ],
)
def test_an_entry_holds_in_its_sessions_steps_and_times_ends_included(when, holds):
    assert when.holds(moment()) is holds


def test_toml_and_json_of_the_same_content_have_one_hash_and_an_empty_one_has_none(tmp_path):
    toml = read(tmp_path, '[[quote]]\nsymbol = "A"\nsession = 2022-10-04\nfactor = 0.70\n')
    json = read(tmp_path, '{"quote": [{"factor": "0.7", "session": "2022-10-04", "symbol": "A"}]}', "s.json")
    assert toml == json
    assert scenario_hash(toml) == scenario_hash(json) is not None
    assert scenario_hash(read(tmp_path, "")) is None
    assert scenario_hash(NO_SCENARIO) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[quote]]\nsymbol = "A"', "factor, absent = true; or age_s alone - at `$.quote[0]`"),
        ('[[quote]]\nsymbol = "A"\nfactor = 0.5\nlast = 3', "give one of: prices"),
        ('[[quote]]\nsymbol = "A"\nlast = 0', "greater than 0"),
        ('[[quote]]\nsymbol = "A"\nlast = nan', "'nan' is not a number"),
        ('[[quote]]\nsymbol = "A"\nbid = "2"\nask = "1"', "bid = 2 is above ask = 1"),
        ('[[quote]]\nsymbol = "A"\nfator = 1', "unknown field `fator` - at `$.quote[0]`"),
        ('[[quote]]\nsymbol = "A"\nlast = true', "a number is wanted, found bool - at `$.quote[0].last`"),
        ("quotes = []", "unknown field `quotes`"),
        ('[[halt]]\nsymbol = "A"\nthrough = "end"', "needs a session"),
        ('[[halt]]\nsymbol = "A"\nsession = "2022-10-05"\nthrough = "2022-10-04"', "needs a session that is not after it"),
        ('[[halt]]\nsymbol = "A"\nat = "10:30"\nsince = "10:00"', "give either at, or since and until"),
        ('[[halt]]\nsymbol = "A"\nsince = "11:00"\nuntil = "10:00"', "until = 10:00 is before since = 11:00"),
        ('[[halt]]\nsymbol = "A"\nsession = 2022-10-04T10:30:00', "give session and at"),
        ('[[fx]]\ncurrency = "AUD"', 'give rate = "…" or absent = true'),
        ('[[fx]]\ncurrency = "AUD"\nrate = 0', "greater than 0"),
        ('[[order]]\nthen = "vanish"', "Invalid enum value 'vanish' - at `$.order[0].then`"),
        ('[[quote]]\nsymbol = "A"\nlast = 1000000000000000.01', "a price is at most"),
        ('[[quote]]\nsymbol = "A"\nfactor = 1000001', "a factor at most 1000000"),
        ('[[fx]]\ncurrency = "AUD"\nrate = 1000001', "a rate is at most 1000000"),
        ('[[adjust]]\nsession = "2022-10-04"\nsymbol = "A"\nquantity = -1000000001', "at most 1000000000 shares"),
        (
            '[[adjust]]\nsession = "2022-10-04"\ncurrency = "USD"\namount = 1e15\n[[adjust]]\nsession = "2022-10-04"\n'
            'currency = "USD"\namount = 1e16',
            "at `$.adjust[1]`",
        ),
        ('[[adjust]]\nsession = "2022-10-04"\nsymbol = "A"', "give symbol and quantity, or currency and amount"),
        ('[[adjust]]\nsymbol = "A"\nquantity = 1', "session is missing"),
        ('[[withhold]]\nquery = "quotes"', "Invalid enum value 'quotes'"),
        ('[[watch]]\ntimes = ["24:00"]', "at `$.watch[0].times[0]`"),
        ('[[watch]]\nstep = "slot"\ntimes = ["11:00"]', "whole sessions"),
        ('[[idle]]\nat = "11:00"', "whole sessions"),
        ("[[quote", "at end of document"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(tmp_path, text, said):
    with pytest.raises(ScenarioError, match=r"s\.toml: ") as refused:
        read(tmp_path, text)
    assert said in str(refused.value)


def test_json_that_names_a_key_twice_or_is_not_finite_is_refused(tmp_path):
    for text in ('{"quote": [], "quote": []}', '{"quote": [{"symbol": "A", "last": NaN}]}', "{"):
        with pytest.raises(ScenarioError):
            read(tmp_path, text, "s.json")


def test_a_file_that_is_not_there_or_too_large_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(tmp_path / "none.toml")
    with pytest.raises(ScenarioError, match="over 1000000 bytes"):
        read(tmp_path, "#" * 1_000_001)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[quote]]\nsymbol = "B"\nfactor = 1', "no names of the data: B"),
        ('[[halt]]\nsymbol = "A"\nsession = "2022-10-08"', "no sessions of the data: 2022-10-08"),
        ('[[listing]]\nsymbols = ["A"]\ncurrency = "AUD"', "currencies without a rate from the start"),
        ('[[fx]]\ncurrency = "USD"\nrate = 2', "the rate of USD, the base currency, is 1"),
    ],
)
def test_sessions_names_and_currencies_are_checked_against_the_prices(tmp_path, text, said):
    scenario = read(tmp_path, text)
    with pytest.raises(ScenarioError, match=re.escape(said)):
        check_scenario(scenario, price_file(tmp_path, PRICES), Terms())


def test_a_listing_in_a_currency_with_a_rate_from_the_start_passes(tmp_path):
    scenario = read(tmp_path, '[[fx]]\ncurrency = "AUD"\nrate = "0.65"\n[[listing]]\nsymbols = ["A"]\ncurrency = "AUD"')
    check_scenario(scenario, price_file(tmp_path, PRICES), Terms())


def test_an_exchange_that_is_closed_is_one_where_something_is_listed(tmp_path):
    closed = "".join(f'[[closed]]\nexchange = "{name}"\n' for name in ("SMART", "XETR"))
    listed = '[[listing]]\nsymbols = ["A"]\nexchange = "XETR"'
    check_scenario(read(tmp_path, closed + listed), price_file(tmp_path, PRICES), Terms())
    with pytest.raises(ScenarioError, match="names exchanges where nothing is listed: XETR"):
        check_scenario(read(tmp_path, closed), price_file(tmp_path, PRICES), Terms())


def test_books_are_due_unless_they_idle_or_the_agents_are_dead(tmp_path):
    scenario = Scenario(idle=(IdleScript(session=MONDAY, books=("alpha",)), IdleScript(session=TUESDAY)))
    assert [scenario.is_due(book, MONDAY) for book in ("alpha", "beta")] == [False, True]
    assert not scenario.is_due("beta", TUESDAY)
    assert scenario.is_due("alpha", WEDNESDAY)
    dead = read(tmp_path, '[agents]\ndead_from = "2022-10-04"')
    assert [dead.is_due("alpha", day) for day in (MONDAY, TUESDAY, WEDNESDAY)] == [True, False, False]


def test_watch_times_are_in_order_and_each_stands_once():
    entries = (WatchScript(session=MONDAY, times=("14:00", "11:00")), WatchScript(times=("11:00",)))
    scenario = Scenario(watch=entries)
    assert scenario.watch_times(MONDAY) == ("11:00", "14:00")
    assert scenario.watch_times(TUESDAY) == ("11:00",)
