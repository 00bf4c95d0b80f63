"""Universe files, and the hash of a policy."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from services.gate.policy import LoadedPolicy, PolicyError, load_policy, policy_hash
from shared.protocol.market import Instrument

HEADER = "symbol,exchange,currency,name,source\n"
US = f"{HEADER}AAA,SMART,USD,Alpha,list\nBRK B,SMART,USD,Berkshire,list\n"


def load(folder: Path, *files: bytes | str, limits: str = "", base: str = "USD") -> LoadedPolicy:
    """A policy whose universe stands in these files."""
    names = []
    for index, content in enumerate(files):
        names.append(f"u{index}.csv")
        (folder / names[-1]).write_bytes(content if isinstance(content, bytes) else content.encode())
    path = folder / "policy.toml"
    path.write_text(f'[policy]\nbase_currency = "{base}"\n{limits}\n[policy.universe]\nfiles = {names!r}\n', "utf-8")
    return load_policy(path)


def refused(folder: Path, *files: bytes | str) -> str:
    with pytest.raises(PolicyError) as error:
        load(folder, *files)
    message = str(error.value)
    assert "policy.universe.files" in message
    assert "\n" not in message
    return message


def keys(found: LoadedPolicy) -> list[str]:
    return [row.key for row in found.policy.universe]


def test_the_instruments_of_all_files_are_known_by_key(tmp_path: Path) -> None:
    found = load(tmp_path, US, f"{HEADER}BHP,ASX,AUD,,\nAAA,LSE,GBP,,\n")

    assert keys(found) == ["AAA:GBP", "AAA:USD", "BHP:AUD", "BRK B:USD"]
    assert found.policy.instrument("AAA:USD") == Instrument("AAA", "SMART", "USD", "Alpha", "list")


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf" + US.encode(),
        US.replace("\n", "\r\n").encode(),
        US.encode().rstrip(b"\n"),
        US.encode() + b"\n\n,,,,\n",
        b"currency,symbol,exchange\nUSD,AAA,smart\nUSD,BRK B,SMART\n",
        US.replace("AAA,", '"AAA" ,').replace('"AAA" ', '"AAA"').encode(),
    ],
)
def test_a_file_saved_by_a_spreadsheet_loads_as_the_plain_one(tmp_path: Path, text: bytes) -> None:
    assert keys(load(tmp_path, text)) == ["AAA:USD", "BRK B:USD"]


def test_symbols_are_text(tmp_path: Path) -> None:
    assert keys(load(tmp_path, f"{HEADER}NA,SMART,USD,,\nTRUE,SMART,USD,,\n700,SEHK,HKD,,\n")) == [
        "700:HKD",
        "NA:USD",
        "TRUE:USD",
    ]


def test_the_same_instrument_in_two_files_is_fine_if_the_exchange_agrees(tmp_path: Path) -> None:
    assert keys(load(tmp_path, US, f"{HEADER}AAA,smart,USD,Again,\n")) == ["AAA:USD", "BRK B:USD"]
    assert "u1.csv line 2: AAA:USD has two exchanges, SMART and NYSE" in refused(tmp_path, US, f"{HEADER}AAA,NYSE,USD,,\n")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (f"{HEADER},SMART,USD,,\n", "line 2: no symbol"),
        (f"{HEADER}AAA,,USD,,\n", "line 2: no exchange"),
        (f"{HEADER}AAA,SMART, ,,\n", "line 2: no currency"),
        (f"{HEADER}AAA,SMART,usd,,\n", "line 2: currency 'usd'"),
        (f"{HEADER}aaa,SMART,USD,,\n", "line 2: symbol 'aaa'"),
        (f"{HEADER}BRK.B,SMART,USD,,\n", "line 2: symbol 'BRK.B': write the share class with a space, 'BRK B'"),
        (f"{HEADER}A:A,SMART,USD,,\n", "line 2: symbol 'A:A'"),
        (f"{HEADER}AAA,SM ART,USD,,\n", "line 2: exchange 'SM ART'"),
        (f"{HEADER}AAA,SMART,USD\n", "line 2: 3 fields, the header has 5"),
        (f"{HEADER}AAA,SMART,USD,,\n\nAAA,LSE,USD,,\n", "line 4: AAA:USD has two exchanges"),
        ("symbol,exchange\nAAA,SMART\n", "line 1: header"),
        ("symbol,exchange,currency,isin\nAAA,SMART,USD,x\n", "line 1: header"),
        ("symbol;exchange;currency\nAAA;SMART;USD\n", "line 1: header"),
        ("symbol,symbol,exchange,currency\nAAA,AAA,SMART,USD\n", "line 1: header"),
        ("", "empty"),
        (HEADER, "no instrument"),
        (f'{HEADER}"AAA,SMART,USD,,\n', "line"),
        (b"symbol,exchange,currency\nA\xe9,SMART,USD\n", "not UTF-8"),
    ],
)
def test_a_row_that_is_not_an_instrument_is_refused_with_file_and_line(tmp_path: Path, content: Any, told: str) -> None:
    message = refused(tmp_path, content)

    assert "u0.csv" in message
    assert told in message


def test_a_universe_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    for files, told in (('["none.csv"]', "none.csv: cannot be read"), ("[]", "must be a list"), ('"u.csv"', "must be a list")):
        path.write_text(f'[policy]\nbase_currency = "USD"\n[policy.universe]\nfiles = {files}\n', "utf-8")
        with pytest.raises(PolicyError, match=told):
            load_policy(path)


def test_a_universe_is_needed_where_nobody_gives_one(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('[policy]\nbase_currency = "USD"\n', "utf-8")

    with pytest.raises(PolicyError, match=r"policy\.universe: is missing"):
        load_policy(path)


def test_a_relative_file_is_relative_to_the_file_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert keys(load(tmp_path, US)) == ["AAA:USD", "BRK B:USD"]


def test_the_hash_is_that_of_the_canonical_json_of_what_is_stated(tmp_path: Path) -> None:
    found = load(
        tmp_path, f"{HEADER}AAA,SMART,USD,,\n", limits="[policy.limits]\nmax_position_pct = 20.50\nexits_exempt = true\n"
    )
    text = (
        '{"base_currency":"USD","limits":{"exits_exempt":true,"max_position_pct":"20.5"},'
        '"universe":[{"currency":"USD","exchange":"SMART","name":"","source":"","symbol":"AAA"}]}'
    )

    assert found.policy_hash == hashlib.sha256(text.encode()).hexdigest()


def test_the_hash_covers_what_the_files_say_and_never_their_names_or_order(tmp_path: Path) -> None:
    one = load(tmp_path, US).policy_hash
    head, *rows = US.splitlines(keepends=True)

    assert load(tmp_path, head + rows[0], head + rows[1]).policy_hash == one
    assert load(tmp_path, head + rows[1] + rows[0]).policy_hash == one
    assert load(tmp_path, head + rows[0]).policy_hash != one


@pytest.mark.parametrize(
    "limits",
    [
        "[policy.limits]\nmax_position_pct = 25\n",
        "[policy.account]\nmax_gross_pct = 80\n",
        "[policy.limits]\nmax_trades_per_month = 9\n",
    ],
)
def test_stating_a_limit_changes_the_hash_even_at_its_default(tmp_path: Path, limits: str) -> None:
    assert load(tmp_path, US, limits=limits).policy_hash != load(tmp_path, US).policy_hash


def test_spelling_does_not_change_the_hash(tmp_path: Path) -> None:
    hashes = {
        load(tmp_path, US, limits=f"[policy.limits]\nmax_position_pct = {text}\n").policy_hash for text in ("20", '"20.0"', "2e1")
    }

    assert len(hashes) == 1


def test_the_hash_can_be_worked_out_from_the_event(tmp_path: Path) -> None:
    limits = '[policy.limits]\nmax_position_pct = "20"\n[policy.account]\nmax_gross_pct = "80"\n'
    found = load(tmp_path, US, limits=limits)

    assert policy_hash(found.policy, found.stated) == found.policy_hash
