"""The list of forgotten persons and schools, which no load and no restore may bring back.

The list is in the lake's root, where every worker reads it. It has no ids or names, only keyed hashes
(BLAKE2b) and a random substitute id for each person in rows that stay. Workers and restored homes need the
key too, so it is in the same file: a reader of the file can test an id, but such a reader can read the lake.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import msgspec
import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError

from warehouse.files import locked, put_in_place
from warehouse.lake.delta import Lake
from warehouse.stores import store_errors_as_os_errors

NAME = "forgotten.json"
#: Replaces a name, a number or an address inside a longer text.
BLANK = "[forgotten]"
#: Replaces a row's JSON in quarantine.
NOT_STORED = '"not stored: it is about a person who was forgotten"'
#: Kinds of marks beside the ids of both interfaces: a number in its own column, a token in any text, a name.
NUMBER, TOKEN, NAME_MARK = "number", "token", "name"
#: The least length of a token: shorter tokens are common words and numbers.
SHORTEST_TOKEN = 5
#: The least number of digits of an id that is recognized anywhere in a log message.
LONG_ID = 5
TOKENS = re.compile(r"[A-Za-z0-9_.@+\-]+")
_PIECES = re.compile(r"[.@+\-_]+")
#: A number that is not part of a word, a decimal, a time or a partition key such as 101:20.
_IDS = re.compile(r"(?<![\w.-])(?<!\d:)\d{1,19}(?!\w|[.-]\d|:\d)")
_PERSON_WORDS = re.compile(
    r"(student|teacher|guardian|user|person|owner|reflection|学生|教师|家长)\w*[^.;]{0,400}$", re.IGNORECASE
)
ATTEMPTS = 20


class Entry(msgspec.Struct, frozen=True):
    """A forgotten person."""

    school_id: int
    #: student, teacher or guardian.
    kind: str
    #: The random id that replaces the person's ids in rows that stay.
    substitute: int
    since: str
    #: Hashes of the ids, numbers, tokens and names that identify the person.
    marks: tuple[str, ...] = ()
    #: Lengths of the person's names, in letters.
    lengths: tuple[int, ...] = ()


class Group(msgspec.Struct, frozen=True):
    """Entries whose hashes have the same key (hexadecimal)."""

    key: str
    entries: tuple[Entry, ...] = ()


class Forgotten(msgspec.Struct, frozen=True):
    """The list of forgotten persons and schools."""

    groups: tuple[Group, ...] = ()
    #: Forgotten schools, and when they were put on the list.
    schools: dict[int, str] = {}
    #: By school and custom field, the values of a choice. They stay in rows of forgotten persons, since
    #: totals depend on them.
    choices: dict[int, dict[str, tuple[str, ...]]] = {}

    @property
    def is_empty(self) -> bool:
        return not (self.groups or self.schools)

    @property
    def persons(self) -> int:
        """The number of persons on the list."""
        return sum(len(group.entries) for group in self.groups)


def digest(key: bytes, school_id: int, kind: str, value: str) -> str:
    """The hash of a mark of a person of a school."""
    text = f"{school_id}/{kind}/{value}".encode(errors="surrogatepass")
    return hashlib.blake2b(text, key=key, digest_size=16).hexdigest()


def folded_token(text: str) -> str:
    """Normalize a token before hashing or comparing."""
    return unicodedata.normalize("NFKC", text).strip().casefold()


def new_substitute(taken: Iterable[int]) -> int:
    """A random id that the platform never gives: negative, and exact in a spreadsheet (15 digits)."""
    taken = set(taken)
    while True:
        candidate = -(10**12 + secrets.randbelow(9 * 10**13))
        if candidate not in taken:
            return candidate


def read(lake: Lake) -> Forgotten:
    """The list of a lake; an empty list if nobody was forgotten. Raises OSError."""
    return _read(lake)[0]


def matcher_of(lake: Lake, school_id: int) -> Matcher | None:
    """The matcher for the forgotten persons of a school; None: nobody of the school was forgotten.

    Checks for a new list each time, so that a run also sees persons forgotten after its start. Raises
    OSError."""
    mark = _mark(lake)
    if mark is None:
        return None
    cached = _CACHE.get(lake.root)
    if cached is None or cached.mark != mark:
        cached = _CACHE[lake.root] = _CachedList(mark, read(lake))
    if school_id not in cached.matchers:
        cached.matchers[school_id] = matcher(cached.forgotten, school_id)
    return cached.matchers[school_id]


def state(lake: Lake) -> str:
    """A version of the list as it is now; empty: there is no list. Raises OSError."""
    mark = _mark(lake)
    return "" if mark is None else hashlib.sha256(repr(mark).encode()).hexdigest()


def change(lake: Lake, changed: Callable[[Forgotten], Forgotten]) -> Forgotten:
    """Replace the list by `changed` of it and return it; concurrent changes are all applied.

    Raises OSError."""
    if not lake.is_remote:
        root = Path(lake.root)
        root.mkdir(parents=True, exist_ok=True)
        with locked(root):
            after = changed(read(lake))
            write_file(root / NAME, after)
        return after
    for _ in range(ATTEMPTS):
        before, tag = _read(lake)
        after = changed(before)
        mode: object = "create" if tag is None else {"e_tag": tag}
        with store_errors_as_os_errors():
            try:
                obstore.put(lake.objects, NAME, msgspec.json.encode(after), mode=mode, use_multipart=False)  # type: ignore[arg-type]
            except (AlreadyExistsError, PreconditionError):
                continue
        return after
    raise OSError(
        f"{lake.root}/{NAME}: other processes changed it {ATTEMPTS} times meanwhile. Run the command again"
    )


def write_file(path: Path, forgotten: Forgotten) -> None:
    """Write a list to a file that only its owner can read."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(forgotten))
    put_in_place(unfinished, path)


def read_file(path: Path) -> Forgotten:
    """Read the list in a file. Raises OSError, and msgspec.MsgspecError if the file has no list."""
    return msgspec.json.decode(path.read_bytes(), type=Forgotten)


def merged(lists: Iterable[Forgotten]) -> Forgotten:
    """Merge several lists."""
    by_key: dict[str, dict[tuple[int, int], Entry]] = {}
    schools: dict[int, str] = {}
    choices: dict[int, dict[str, tuple[str, ...]]] = {}
    for forgotten in lists:
        schools = {**forgotten.schools, **schools}
        choices |= forgotten.choices
        for group in forgotten.groups:
            entries = by_key.setdefault(group.key, {})
            for entry in group.entries:
                earlier = entries.get((entry.school_id, entry.substitute))
                entries[entry.school_id, entry.substitute] = _joined(earlier, entry) if earlier else entry
    groups = tuple(Group(key, tuple(entries.values())) for key, entries in by_key.items())
    return Forgotten(groups, schools, choices)


def with_person(
    forgotten: Forgotten,
    school_id: int,
    kind: str,
    marks: Sequence[tuple[str, str]],
    *,
    since: str,
    choices: Mapping[str, Sequence[str]],
) -> tuple[Forgotten, int]:
    """Add a person to the list; returns the list and the person's substitute.

    A person with an id on the list keeps the substitute. `marks`: pairs of a kind and a value, the ids
    first."""
    school_matcher = matcher(forgotten, school_id)
    existing = school_matcher.any_of(marks) if school_matcher else None
    taken = [entry.substitute for group in forgotten.groups for entry in group.entries]
    substitute = existing if existing is not None else new_substitute(taken)
    group = forgotten.groups[0] if forgotten.groups else Group(secrets.token_hex(32))
    key = bytes.fromhex(group.key)
    hashes = tuple(dict.fromkeys(digest(key, school_id, mark, value) for mark, value in marks))
    lengths = tuple(sorted({len(value) for mark, value in marks if mark == NAME_MARK}))
    entry = Entry(school_id, kind, substitute, since, hashes, lengths)
    own = {school_id: {name: tuple(values) for name, values in choices.items()}}
    return merged([forgotten, Forgotten((Group(group.key, (entry,)),), {}, own)]), substitute


@dataclass(frozen=True)
class _Keyed:
    key: bytes
    substitutes: Mapping[str, int]


@dataclass
class Matcher:
    """Recognizes the forgotten persons of a school."""

    school_id: int
    keyed: Sequence[_Keyed]
    #: Lengths of their names, in letters.
    lengths: Sequence[int]
    #: Their substitute ids.
    substitutes: frozenset[int]
    #: By substitute: student, teacher or guardian.
    kinds: Mapping[int, str]
    #: By custom field, the values that stay.
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.find = lru_cache(1 << 18)(self._find)
        self.cleaned = lru_cache(1 << 16)(self._cleaned)
        self.cleaned_words = lru_cache(1 << 16)(self._cleaned_words)

    def _find(self, kind: str, value: str) -> int | None:
        """The substitute of the person with this mark; None: the mark is not on the list."""
        for group in self.keyed:
            substitute = group.substitutes.get(digest(group.key, self.school_id, kind, value))
            if substitute is not None:
                return substitute
        return None

    def any_of(self, marks: Iterable[tuple[str, str]]) -> int | None:
        """The substitute of the person with any id among some marks; None: no id is on the list."""
        ids = (self.find(kind, value) for kind, value in marks if kind not in (NUMBER, TOKEN, NAME_MARK))
        return next((substitute for substitute in ids if substitute is not None), None)

    def identifies(self, text: str) -> int | None:
        """The substitute of the person whose number, address or name the whole text is; None: nobody's."""
        token = self.find(TOKEN, folded_token(text))
        if token is not None:
            return token
        name = unicodedata.normalize("NFC", text.strip())
        return self.find(NAME_MARK, name) if len(name) in self.lengths else None

    def _cleaned(self, text: str) -> str | None:
        """The text with marks of forgotten persons blanked; None: the whole text is a mark. A text without
        marks is returned as the same object."""
        if self.identifies(text) is not None:
            return None
        spans = [word.span() for word in TOKENS.finditer(text) if self._is_token(word[0])]
        for length in self.lengths:
            for start in range(len(text) - length + 1):
                if (
                    is_bounded(text, start, start + length)
                    and self.find(NAME_MARK, text[start : start + length]) is not None
                ):
                    spans.append((start, start + length))
        return blanked(text, spans)

    def _is_token(self, word: str) -> bool:
        parts = [word, *_PIECES.split(word)] if _PIECES.search(word) else [word]
        return any(len(p) >= SHORTEST_TOKEN and self.find(TOKEN, folded_token(p)) is not None for p in parts)

    def _cleaned_words(self, text: str) -> str:
        """A log message with marks and ids of forgotten persons blanked. Short ids only count near a word for
        a person (`id_spans`)."""
        spans = id_spans(text, lambda id: any(self.find(kind, id) is not None for kind in ("v3", "v1")))
        return self.cleaned(blanked(text, spans)) or BLANK


def matcher(forgotten: Forgotten, school_id: int) -> Matcher | None:
    """The matcher for a list's persons of a school; None: the list has none."""
    keyed, entries = [], list[Entry]()
    for group in forgotten.groups:
        own = [entry for entry in group.entries if entry.school_id == school_id]
        if own:
            entries += own
            marks = {mark: entry.substitute for entry in own for mark in entry.marks}
            keyed.append(_Keyed(bytes.fromhex(group.key), marks))
    if not entries:
        return None
    return Matcher(
        school_id,
        keyed,
        sorted({length for entry in entries for length in entry.lengths}),
        frozenset(entry.substitute for entry in entries),
        {entry.substitute: entry.kind for entry in entries},
        {name: frozenset(values) for name, values in forgotten.choices.get(school_id, {}).items()},
    )


def id_spans(text: str, is_id: Callable[[str], bool]) -> list[tuple[int, int]]:
    """The spans of ids in a log message: long ids anywhere, short ids only near a word for a person."""
    return [
        number.span()
        for number in _IDS.finditer(text)
        if is_id(number[0])
        and (
            len(number[0]) >= LONG_ID
            or _PERSON_WORDS.search(text[max(0, number.start() - 400) : number.start()])
        )
    ]


def is_bounded(text: str, start: int, end: int) -> bool:
    """Whether a span of a text is not part of a longer word. Chinese has no gaps between words."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (_is_same_word(before, text[start]) or _is_same_word(after, text[end - 1]))


def occurrences(text: str, part: str) -> Iterator[tuple[int, int]]:
    """The spans at which a text contains a part, overlapping spans too."""
    at = text.find(part)
    while at >= 0:
        yield at, at + len(part)
        at = text.find(part, at + 1)


def holds_name(text: str, name: str) -> bool:
    """Whether a text contains a name that is not part of a longer word."""
    return any(is_bounded(text, *span) for span in occurrences(text, name))


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with BLANK in place of some spans; without spans, the same object."""
    parts, at = [], 0
    for start, end in sorted(spans):
        if end > at:
            parts += [text[at : max(at, start)], BLANK if start >= at else ""]
            at = end
    return "".join([*parts, text[at:]]) if parts else text


def _is_same_word(outer: str, inner: str) -> bool:
    return bool(outer) and _is_spaced(outer) and _is_spaced(inner)


def _is_spaced(letter: str) -> bool:
    """Whether a letter or digit belongs to a script with gaps between words."""
    return letter.isalnum() and not "\u2e80" <= letter <= "\uffdc"


def _joined(earlier: Entry, entry: Entry) -> Entry:
    return msgspec.structs.replace(
        earlier,
        marks=tuple(dict.fromkeys((*earlier.marks, *entry.marks))),
        lengths=tuple(sorted({*earlier.lengths, *entry.lengths})),
    )


@dataclass
class _CachedList:
    """The list as last read, and its matchers by school."""

    #: Identifies the object that was read.
    mark: object
    forgotten: Forgotten
    matchers: dict[int, Matcher | None] = field(default_factory=dict)


#: By root of the lake.
_CACHE: dict[str, _CachedList] = {}


def _mark(lake: Lake) -> object | None:
    try:
        with store_errors_as_os_errors():
            head = obstore.head(lake.objects, NAME)
    except FileNotFoundError:
        return None
    return head["e_tag"], head["last_modified"], head["size"]


def _read(lake: Lake) -> tuple[Forgotten, str | None]:
    try:
        with store_errors_as_os_errors():
            stored = obstore.get(lake.objects, NAME)
            content = bytes(stored.bytes())
    except FileNotFoundError:
        return Forgotten(), None
    return msgspec.json.decode(content, type=Forgotten), stored.meta["e_tag"]
