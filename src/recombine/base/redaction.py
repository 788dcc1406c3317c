"""What must not be said of a source: the passwords, tokens and keys that stand in its address.

Whatever names a source (an error, a record, a page, a manifest, a line on the terminal) names it as `redacted` writes
it. Engines quote an address, or part of it, in words of their own: `guarded` knows the secrets of the sources that are
open, and every error that is made meanwhile leaves them out.

An address is read more broadly than any engine reads it, because people write passwords without escaping them: too much
is hidden rather than too little.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import quote, quote_plus, unquote, unquote_plus

HIDDEN = "…"

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://")
_MOST_URLS = 50
"""An address that holds others (a proxy, a cache) holds a few; one with more is hidden whole."""

_BARE_LOGIN = re.compile(r"[\w.+\-]{2,}:(?=[^\s:@][^@]*@)")
"""A login without a scheme in front. One letter and a colon are a disk of Windows."""

_TOKEN_SCHEMES = {"http", "https", "hf", "ray"}
"""Where a user without a password is a token more often than a name."""

_PARAMETER = re.compile(r"([?&;#])([^?&;#=]*)=")
_CONNECTION = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S*)")
_CONNECTION_WORDS = {"host", "hostaddr", "port", "dbname", "user", "service", "sslmode"}
_SECRET_PARTS = ("password", "passwd", "passphrase", "pwd", "token", "secret", "key", "signature", "credential")
_SECRET_NAMES = {"sig", "sas", "pass", "pw", "auth", "authorization", "jwt"}
_SHORT = 5
"""A secret shorter than this is looked for as a word of its own: "a" stands in nearly every sentence."""

Span = tuple[int, int]

_open: ContextVar[frozenset[str]] = ContextVar("secrets of the sources that are open", default=frozenset())


def redacted(source: str) -> str:
    """A source's name as it can be shown and saved.

    >>> redacted("postgresql://me:pass@host/db?sslmode=require&sslpassword=word")
    'postgresql://me:…@host/db?sslmode=require&sslpassword=…'
    >>> redacted("https://me:pass@host/table.csv?X-Amz-Signature=0a1b&page=2")
    'https://…@host/table.csv?X-Amz-Signature=…&page=2'
    >>> redacted("data/key=3/table.csv")
    'data/key=3/table.csv'
    """
    shown, end = [], 0
    for start, stop in _spans(source):
        shown += [source[end:start], HIDDEN]
        end = stop
    return "".join([*shown, source[end:]])


def redacted_words(words: str) -> str:
    """A sentence, or a command, with every address in it redacted, and without the secrets of what is open.

    >>> redacted_words("no answer from 'postgresql://me:pass@host/db' at noon")
    "no answer from 'postgresql://me:…@host/db' at noon"
    """
    return _ADDRESS.sub(lambda found: redacted(found[0]), _without(words, _open.get()))


_ADDRESS = re.compile(
    rf"""(?<=')(?:{_URL.pattern})[^'\n]*(?=')|(?<=")(?:{_URL.pattern})[^"\n]*(?=")|(?:{_URL.pattern})\S*"""
)
"""An address in a sentence ends at the quote that it began with, else at the next space."""


def secrets_in(source: str) -> frozenset[str]:
    """The secrets of a source, in every way in which an engine may write them.

    >>> {"p%40ss-word", "p@ss-word"} < secrets_in("postgresql://me:p%40ss-word@host/db")
    True
    """
    hidden = {source[start:stop] for start, stop in _spans(source)} - {HIDDEN}
    return frozenset(written for secret in hidden for written in _written(secret) if written)


@contextmanager
def guarded(*sources: str) -> Iterator[None]:
    """While these sources are open, no error of ours says their secrets, nor do the errors that it came from."""
    before = _open.get()
    secrets = before.union(*map(secrets_in, sources))
    _open.set(secrets)
    try:
        yield
    except Exception as error:
        if secrets and _tells(error, secrets):
            error.__cause__ = None  # what a traceback would show of the engine's own words
            error.__suppress_context__ = True
        raise
    finally:
        _open.set(before)


def _tells(error: BaseException, secrets: frozenset[str]) -> bool:
    """Whether one of the errors behind this one says a secret."""
    behind, seen = error.__cause__ or error.__context__, {id(error)}
    while behind is not None and id(behind) not in seen:
        said = str(behind)
        if _without(said, secrets) != said or redacted_words(said) != said:
            return True
        seen.add(id(behind))
        behind = behind.__cause__ or behind.__context__
    return False


def _without(words: str, secrets: frozenset[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) < _SHORT:
            words = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, words)
        else:
            words = words.replace(secret, HIDDEN)
    return words


def _written(secret: str) -> set[str]:
    """A secret as it was given, decoded, encoded and escaped; and its parts, where an engine takes it apart."""
    plain = {secret, unquote(secret), unquote_plus(secret)}
    parts = {part for text in plain for part in re.split(r"[^\w.~+\-]+", text) if len(part) > 1}
    forms = {form(text) for text in plain for form in (repr, json.dumps)}
    encoded = {code(text, safe="") for text in plain if "%" in secret or not secret.isalnum() for code in _CODES}
    return plain | parts | encoded | {form[1:-1] for form in forms}


_CODES = (quote, quote_plus)


def _spans(source: str) -> list[Span]:
    """Where the secrets of a source stand, in order and apart from each other."""
    starts = list(_URL.finditer(source))
    if len(starts) > _MOST_URLS:
        return [(starts[0].end(), len(source))]
    found = [span for start in starts for span in _spans_of_url(source, start[1].lower(), start.end())]
    if not starts:
        found = [*_bare_login(source), *_parameters(source, 0), *_connection(source)]
    return _apart(found)


def _apart(found: list[Span]) -> list[Span]:
    together: list[Span] = []
    for start, stop in sorted(span for span in found if span[0] < span[1]):
        if together and start <= together[-1][1]:
            together[-1] = (together[-1][0], max(stop, together[-1][1]))
        else:
            together.append((start, stop))
    return together


def _spans_of_url(source: str, scheme: str, start: int) -> list[Span]:
    return [*_login(source, scheme.rpartition("+")[2], start), *_parameters(source, start)]


def _login(source: str, scheme: str, start: int) -> list[Span]:
    """The password of a login: up to the last @, since a password may hold one, or a slash, unescaped."""
    rest = source[start:]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    colon = re.search(r":|%3a", authority, flags=re.IGNORECASE)
    hidden_from = start if scheme in _TOKEN_SCHEMES else start + (colon.end() if colon else 0)
    if colon is None or ("@" in authority and authority.index("@") < colon.start()):
        # a user alone; or a port behind it
        at = authority.rfind("@")
        return [(start, start + at)] if at > 0 and scheme in _TOKEN_SCHEMES else []
    port = authority[colon.end() :].isdigit() and scheme in _TOKEN_SCHEMES
    return [] if port or "@" not in rest else [(hidden_from, start + rest.rindex("@"))]


def _bare_login(source: str) -> list[Span]:
    user = _BARE_LOGIN.match(source)
    return [(user.end(), source.rindex("@"))] if user else []


def _parameters(source: str, start: int) -> list[Span]:
    """The values of parameters whose name says that they are secret, wherever they stand behind ? & ; or #."""
    found = []
    while (parameter := _PARAMETER.search(source, start)) is not None:
        start = parameter.end()
        stop = _end_of_value(source, start, parameter[1])
        if _is_secret(parameter[2]) or _holds_url(source[start:stop]):
            found.append((start, stop))
            start = stop
    return found


def _end_of_value(source: str, start: int, mark: str) -> int:
    """Where the next parameter begins: behind an &, or behind another ; where this one stood behind one."""
    following = re.compile(r"[&;][^?&;#=]*=" if mark == ";" else r"&[^?&;#=]*=").search(source, start)
    return following.start() if following else len(source)


def _is_secret(name: str) -> bool:
    plain = re.sub(r"[^a-z0-9]", "", unquote(name).lower())
    return plain in _SECRET_NAMES or any(part in plain for part in _SECRET_PARTS)


def _holds_url(value: str) -> bool:
    """Whether an encoded address with secrets of its own stands here."""
    decoded = unquote(value)
    return "://" not in value and "://" in decoded and bool(_spans(decoded))


def _connection(source: str) -> list[Span]:
    """The secrets of what libpq calls a connection string: host=… user=… password=…"""
    pairs, end = [], 0
    while (pair := _CONNECTION.match(source, end)) is not None:
        pairs.append(pair)
        end = pair.end()
    if source[end:].strip() or not any(pair[1].lower() in _CONNECTION_WORDS for pair in pairs):
        return []
    return [pair.span(2) for pair in pairs if _is_secret(pair[1])]
