"""Takes out of a report what should not leave the machine: secrets, addresses, the names of user and host, and the home folder.

The same thing has the same stand-in everywhere in a report (``<email-1>``), so that what belongs together still shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from f64doctor.report import Report

SECRET_NAMES = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL|AUTH", re.IGNORECASE
)
"""Variables of the environment whose values are secrets."""

SHORTEST_SECRET = 6
"""Characters below which the value of such a variable is too common to be looked for (``1``, ``true``)."""

COMMON_NAMES = frozenset(
    """
    root user users admin test tests guest ubuntu debian centos ec2-user jovyan runner vagrant docker nobody build
    data model models train layer layers loss keras numpy python tensorflow home work main local localhost host
    input inputs output dense float float32 float64 double gpu cpu the and for not
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""Names of users and hosts that say nothing about anybody, and that would take words out of the report."""

LEFT_ALONE = frozenset(
    "code check status severity grade kind root_cause outcome f64doctor schema_version unit tensorflow keras numpy keras_backend".split()  # noqa: SIM905
)
"""Fields that hold the report's own words or versions."""

_TOKENS = re.compile(
    r"""
    \b(?:AKIA|ASIA)[0-9A-Z]{16}\b
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,} | \bglpat-[A-Za-z0-9_-]{16,}
    | \bhf_[A-Za-z0-9]{20,} | \bsk-[A-Za-z0-9_-]{20,} | \bxox[abpors]-[A-Za-z0-9-]{10,}
    | \bAIza[0-9A-Za-z_-]{35} | \bnpm_[A-Za-z0-9]{30,} | \bpypi-[A-Za-z0-9_-]{20,}
    | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_BEARER = re.compile(r"\b(Bearer|Basic|token)( +)([A-Za-z0-9+/_.~-]{16,}={0,2})")
_IN_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{1,20}://)([^\s/@:\"']*(?::[^\s/@\"']*)?)@")
_NAMED = re.compile(
    r"""((?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|auth)
        [A-Za-z0-9_]*["']?\s*(?:[=:]|=>)\s*)
        (?: (["'])((?:(?!\2)[^\n\\]|\\.){3,}?)\2 | ([^\s"'&,;(){}\[\]<>]{6,}) )""",
    re.VERBOSE | re.IGNORECASE,
)
_EMAIL = re.compile(r"\b[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b")
_HOMES = re.compile(r"(?<![\w.])/(home|Users)/([A-Za-z0-9._-]+)")


class Known(msgspec.Struct, frozen=True):
    """What is known of this machine and its user: home folder, names of user and host, and values that are secret."""

    home: str = ""
    user: str = ""
    hosts: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values in an environment that are secrets by the names of their variables, the longest first."""
    found = {
        value
        for name, value in environment.items()
        if SECRET_NAMES.search(name) and len(value) >= SHORTEST_SECRET and not value.startswith("/")
    }
    return tuple(sorted(found, key=len, reverse=True))


def masked(report: Report, known: Known) -> Report:
    """The report with everything that names or lets in somebody replaced by a stand-in."""
    plain = msgspec.to_builtins(report)
    changed = Masking(known).value(plain)
    return report if changed == plain else msgspec.convert(changed, Report)


class Masking:
    """One consistent mapping from what is masked to its stand-ins."""

    def __init__(self, known: Known) -> None:
        self._stand_ins: dict[tuple[str, str], str] = {}
        self._steps: list[Callable[[str], str]] = []
        self._steps += [self._exactly(secret) for secret in known.secrets]
        self._steps += [self._tokens, self._addresses, self._named, self._emails]
        if len(known.home) > 1:
            home = re.compile(re.escape(known.home.rstrip("/")) + r"(?![\w.-])")
            self._steps.append(lambda text: home.sub("~", text))
        self._steps.append(self._other_homes)
        self._steps += [self._name(known.user, "user"), *(self._name(host, "host") for host in known.hosts)]

    def stand_in(self, kind: str, what: str) -> str:
        """``<secret-1>`` for the first secret, and the same for the same one again."""
        known = self._stand_ins.get((kind, what))
        if known is None:
            number = 1 + sum(1 for other, _ in self._stand_ins if other == kind)
            known = self._stand_ins[kind, what] = f"<{kind}-{number}>"
        return known

    def text(self, text: str) -> str:
        """A piece of text, masked."""
        for step in self._steps:
            text = step(text)
        return text

    def value(self, value: Any, field: str = "") -> Any:
        """Plain data, each string in it masked."""
        if isinstance(value, str):
            return value if field in LEFT_ALONE else self.text(value)
        if isinstance(value, dict):
            return {key: self.value(item, str(key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, field) for item in value]
        return value

    def _exactly(self, secret: str) -> Callable[[str], str]:
        return lambda text: text.replace(secret, self.stand_in("secret", secret)) if secret in text else text

    def _tokens(self, text: str) -> str:
        text = _TOKENS.sub(lambda found: self.stand_in("secret", found.group()), text)
        return _BEARER.sub(lambda m: m.group(1) + m.group(2) + self.stand_in("secret", m.group(3)), text)

    def _addresses(self, text: str) -> str:
        def replaced(found: re.Match[str]) -> str:
            begin, who = found.groups()
            return found.group() if who.startswith("<secret-") else f"{begin}{self.stand_in('secret', who)}@"

        return _IN_ADDRESS.sub(replaced, text)

    def _named(self, text: str) -> str:
        def replaced(found: re.Match[str]) -> str:
            begin, quote, quoted, bare = found.groups()
            value = quoted if quoted is not None else bare
            if value.startswith("<secret-") or (quoted is None and not _looks_secret(bare)):
                return found.group()
            return f"{begin}{quote or ''}{self.stand_in('secret', value)}{quote or ''}"

        return _NAMED.sub(replaced, text)

    def _emails(self, text: str) -> str:
        return _EMAIL.sub(lambda found: self.stand_in("email", found.group()), text) if "@" in text else text

    def _other_homes(self, text: str) -> str:
        return _HOMES.sub(lambda m: f"/{m.group(1)}/{self.stand_in('user', m.group(2))}", text)

    def _name(self, name: str, kind: str) -> Callable[[str], str]:
        """A step that masks a name: as a whole word, or, when it is an everyday word, not at all."""
        if len(name) < 3 or name.lower() in COMMON_NAMES:
            return lambda text: text
        word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
        return lambda text: word.sub(lambda _: self.stand_in(kind, name), text)


def _looks_secret(value: str) -> bool:
    """Whether a bare word behind ``token=`` is a value rather than a name in a program."""
    return any(letter.isdigit() for letter in value) and not re.fullmatch(r"[\d.]+|[A-Za-z_]+\d?", value)
