"""The `accounts` block of the server's configuration, made from the table of rights."""

import json
from collections.abc import Iterable, Iterator, Mapping

from shared.bus.rights import (
    AGENT,
    API,
    CALLERS,
    FOREIGN_API,
    HINT,
    LOG,
    MANY_ANSWERS,
    PROVISIONER,
    Rights,
    account_of,
    calls_of,
    owner_of,
    provisioner_rights,
    rights_of,
)
from shared.protocol.ids import AUTHORS


def accounts_config(users: Mapping[str, str]) -> str:
    """The block for these users: public key by name (an author, `agent/<book>` or `provisioner`)."""
    rights = [_rights(name) for name in users]
    blocks = [_account(LOG, _of(rights, LOG), users, _log_exports(), ())]
    for author in AUTHORS:
        name = account_of(author)
        blocks.append(_account(name, _of(rights, name), users, _exports(author), _imports(author)))
    return "\n".join(["accounts {", *blocks, "}"])


def _rights(name: str) -> Rights:
    """The rights of a user by the name of its key."""
    if name == PROVISIONER:
        return provisioner_rights()
    author, _, book = name.partition("/")
    return rights_of(author, book)


def _of(rights: Iterable[Rights], account: str) -> list[Rights]:
    return [row for row in rights if row.account == account]


def _account(
    name: str, rights: Iterable[Rights], users: Mapping[str, str], exports: Iterable[str], imports: Iterable[str]
) -> str:
    """One account."""
    lines = [f"  {name} {{"]
    if name == LOG:
        lines.append("    jetstream: enabled")
    lines += _list("users", (_user(users[row.user], row) for row in rights))
    lines += _list("exports", exports)
    lines += _list("imports", imports)
    return "\n".join([*lines, "  }"])


def _list(name: str, rows: Iterable[str]) -> list[str]:
    found = [f"      {row}" for row in rows]
    return [f"    {name}: [", *found, "    ]"] if found else []


def _user(public: str, rights: Rights) -> str:
    """One user; `allow_responses` lets it answer the requests that it gets, and nothing else beyond its list."""
    answers = ", allow_responses: true" if rights.answers else ""
    allowed = f"publish: {{ allow: {_texts(rights.publish)} }}, subscribe: {{ allow: {_texts(rights.subscribe)} }}"
    return f"{{ nkey: {public}, permissions: {{ {allowed}{answers} }} }}"


def _log_exports() -> Iterator[str]:
    """What `LOG` lets others reach, each subject by those who may only."""
    for author in AUTHORS:
        yield _service(f"ev.{author}.>", (author,))
    for call in dict.fromkeys(call for author in AUTHORS for call in calls_of(author)):
        callers = tuple(author for author in AUTHORS if call in calls_of(author))
        yield _service(f"{API}.{call}", callers, many=call in MANY_ANSWERS)


def _exports(author: str) -> Iterator[str]:
    """What an author's account lets others reach: its answers, and its hints."""
    for subject, callers in CALLERS.items():
        others = tuple(caller for caller in callers if caller != author)
        if owner_of(subject) == author and others:
            yield _service(subject, others)
    if author != AGENT:
        yield f"{{ stream: {_text(HINT)}, accounts: [{account_of(AGENT)}] }}"


def _imports(author: str) -> Iterator[str]:
    """What an author's account reaches of others."""
    yield f"{{ service: {{ account: {LOG}, subject: {_text(f'ev.{author}.>')} }} }}"
    for call in calls_of(author):
        source = f"account: {LOG}, subject: {_text(f'{API}.{call}')}"
        yield f"{{ service: {{ {source} }}, to: {_text(f'{FOREIGN_API}.{call}')} }}"
    for subject, callers in CALLERS.items():
        if author in callers and owner_of(subject) != author:
            yield f"{{ service: {{ account: {account_of(owner_of(subject))}, subject: {_text(subject)} }} }}"
    if author == AGENT:
        for other in AUTHORS:
            if other != AGENT:
                yield f"{{ stream: {{ account: {account_of(other)}, subject: {_text(HINT)} }} }}"


def _service(subject: str, callers: Iterable[str], *, many: bool = False) -> str:
    """One export of requests; `many`: with any number of answers to one request."""
    answers = ", response_type: Stream" if many else ""
    accounts = ", ".join(account_of(caller) for caller in callers)
    return f"{{ service: {_text(subject)}, accounts: [{accounts}]{answers} }}"


def _texts(values: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _text(value: str) -> str:
    """A quoted text; the server reads JSON's escapes in double quotes."""
    return json.dumps(value, ensure_ascii=False)
