"""The list of the forgotten: which persons and schools no load and no restore may bring back.

It lies in the lake's root, so that every worker has it. It has no id and no name, only keyed hashes (BLAKE2b)
and the random id that stands for the person in rows which stay. The key is in the same file, since workers
and restored homes need both: whoever reads the file can test whether an id is on it, and reads the lake too.
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
from warehouse.stores import told_plainly

NAME = "forgotten.json"
#: In the place of a name, a number or an address inside a longer text.
BLANK = "[forgotten]"
#: In the place of a row's JSON in quarantine.
NOT_STORED = '"not stored: it is about a person who was forgotten"'
#: Kinds of marks beside the ids of either interface: a number in its own column, what is recognised inside
#: any text, and names.
NUMBER, TOKEN, NAME_MARK = "number", "token", "name"
#: Letters of a token at least: shorter ones are common words and numbers.
SHORTEST_TOKEN = 5
#: Digits of an id that is recognised in a log's words wherever it stands.
LONG_ID = 5
TOKENS = re.compile(r"[A-Za-z0-9_.@+\-]+")
_PIECES = re.compile(r"[.@+\-_]+")
#: A number that is no part of a word, of a decimal, of a time or of a partition's key such as 101:20.
_IDS = re.compile(r"(?<![\w.-])(?<!\d:)\d{1,19}(?!\w|[.-]\d|:\d)")
_PERSON_WORDS = re.compile(
    r"(student|teacher|guardian|user|person|owner|reflection|学生|教师|家长)\w*[^.;]{0,400}$", re.IGNORECASE
)
ATTEMPTS = 20


class Entry(msgspec.Struct, frozen=True):
    """A person."""

    school_id: int
    #: student, teacher or guardian.
    kind: str
    #: The random id that stands for the person in rows which stay.
    substitute: int
    since: str
    #: Hashes of what the person is recognised by.
    marks: tuple[str, ...] = ()
    #: Of the person's names, in letters.
    lengths: tuple[int, ...] = ()


class Group(msgspec.Struct, frozen=True):
    """Entries whose hashes have the same key (hexadecimal)."""

    key: str
    entries: tuple[Entry, ...] = ()


class Forgotten(msgspec.Struct, frozen=True):
    """The list."""

    groups: tuple[Group, ...] = ()
    #: By school since when it is on the list.
    schools: dict[int, str] = {}
    #: By school and custom field the values of a choice. They stay in rows of forgotten persons, since totals
    #: go by them.
    choices: dict[int, dict[str, tuple[str, ...]]] = {}

    @property
    def is_empty(self) -> bool:
        return not (self.groups or self.schools)

    @property
    def persons(self) -> int:
        """How many persons are on the list."""
        return sum(len(group.entries) for group in self.groups)


def digest(key: bytes, school_id: int, kind: str, value: str) -> str:
    """The hash of one mark of a person of a school."""
    text = f"{school_id}/{kind}/{value}".encode(errors="surrogatepass")
    return hashlib.blake2b(text, key=key, digest_size=16).hexdigest()


def folded_token(text: str) -> str:
    """How a token is hashed and compared."""
    return unicodedata.normalize("NFKC", text).strip().casefold()


def new_substitute(taken: Iterable[int]) -> int:
    """An id that the platform never gives: random, negative, and exact in a spreadsheet (15 digits)."""
    known = set(taken)
    while True:
        candidate = -(10**12 + secrets.randbelow(9 * 10**13))
        if candidate not in known:
            return candidate


def read(lake: Lake) -> Forgotten:
    """The list of a lake; an empty one where nobody was forgotten. Raises OSError."""
    return _read(lake)[0]


def matcher_of(lake: Lake, school_id: int) -> Matcher | None:
    """What recognises the forgotten of a school in rows; None: nobody of the school was forgotten. The list
    is looked at each time, so that a run sees who was forgotten after it began. Raises OSError."""
    mark = _mark(lake)
    if mark is None:
        return None
    known = _KNOWN.get(lake.root)
    if known is None or known.mark != mark:
        known = _KNOWN[lake.root] = _Known(mark, read(lake))
    if school_id not in known.matchers:
        known.matchers[school_id] = matcher(known.forgotten, school_id)
    return known.matchers[school_id]


def state(lake: Lake) -> str:
    """A name for the list as it is now; empty: there is none. Raises OSError."""
    mark = _mark(lake)
    return "" if mark is None else hashlib.sha256(repr(mark).encode()).hexdigest()


def change(lake: Lake, changed: Callable[[Forgotten], Forgotten]) -> Forgotten:
    """Change the list and return it. Changes by two processes at once both land. Raises OSError."""
    if not lake.is_remote:
        root = Path(lake.root)
        root.mkdir(parents=True, exist_ok=True)
        with locked(root):
            wanted = changed(read(lake))
            write_file(root / NAME, wanted)
        return wanted
    for _ in range(ATTEMPTS):
        before, tag = _read(lake)
        wanted = changed(before)
        mode: object = "create" if tag is None else {"e_tag": tag}
        with told_plainly():
            try:
                obstore.put(lake.objects, NAME, msgspec.json.encode(wanted), mode=mode, use_multipart=False)  # type: ignore[arg-type]
            except (AlreadyExistsError, PreconditionError):
                continue
        return wanted
    raise OSError(
        f"{lake.root}/{NAME}: others changed it {ATTEMPTS} times meanwhile. Run the same command again"
    )


def write_file(path: Path, forgotten: Forgotten) -> None:
    """Put a list in a file that its owner alone can read."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(forgotten))
    put_in_place(unfinished, path)


def read_file(path: Path) -> Forgotten:
    """The list of a file. Raises OSError, and msgspec.MsgspecError where it is no list."""
    return msgspec.json.decode(path.read_bytes(), type=Forgotten)


def merged(lists: Iterable[Forgotten]) -> Forgotten:
    """All that any of several lists has."""
    by_key: dict[str, dict[tuple[int, int], Entry]] = {}
    schools: dict[int, str] = {}
    choices: dict[int, dict[str, tuple[str, ...]]] = {}
    for each in lists:
        schools = {**each.schools, **schools}
        choices |= each.choices
        for group in each.groups:
            entries = by_key.setdefault(group.key, {})
            for entry in group.entries:
                known = entries.get((entry.school_id, entry.substitute))
                entries[entry.school_id, entry.substitute] = _joined(known, entry) if known else entry
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
    """The list with a person, and the person's substitute: the one that there is where an id is on the list
    already.

    marks: pairs of the kind of a mark and its value, the ids first."""
    matched = matcher(forgotten, school_id)
    known = matched.any_of(marks) if matched else None
    taken = [entry.substitute for group in forgotten.groups for entry in group.entries]
    substitute = known if known is not None else new_substitute(taken)
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
    """Recognises the forgotten of one school."""

    school_id: int
    keyed: Sequence[_Keyed]
    #: Of their names, in letters.
    lengths: Sequence[int]
    #: The ids that stand for them.
    substitutes: frozenset[int]
    #: By substitute: student, teacher or guardian.
    kinds: Mapping[int, str]
    #: By custom field the values that stay.
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.find = lru_cache(1 << 18)(self._find)
        self.cleaned = lru_cache(1 << 16)(self._cleaned)
        self.cleaned_words = lru_cache(1 << 16)(self._cleaned_words)

    def _find(self, kind: str, value: str) -> int | None:
        """The substitute of whom a mark is of; None: nobody on the list."""
        for each in self.keyed:
            found = each.substitutes.get(digest(each.key, self.school_id, kind, value))
            if found is not None:
                return found
        return None

    def any_of(self, marks: Iterable[tuple[str, str]]) -> int | None:
        """The substitute of whom any id among some marks is of."""
        ids = (self.find(kind, value) for kind, value in marks if kind not in (NUMBER, TOKEN, NAME_MARK))
        return next((one for one in ids if one is not None), None)

    def identifies(self, text: str) -> int | None:
        """The substitute of the person whose number, address or name a text is, as a whole."""
        token = self.find(TOKEN, folded_token(text))
        if token is not None:
            return token
        name = unicodedata.normalize("NFC", text.strip())
        return self.find(NAME_MARK, name) if len(name) in self.lengths else None

    def _cleaned(self, text: str) -> str | None:
        """A text without what it says of the forgotten; None: it says nothing else. The same object: it says
        nothing."""
        if self.identifies(text) is not None:
            return None
        spans = [found.span() for found in TOKENS.finditer(text) if self._is_token(found[0])]
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
        """The words of a log without what they say of the forgotten, ids included: those that stand near a
        word for a person, and long ones anywhere."""
        spans = id_spans(text, lambda id: any(self.find(kind, id) is not None for kind in ("v3", "v1")))
        return self.cleaned(blanked(text, spans)) or BLANK


def matcher(forgotten: Forgotten, school_id: int) -> Matcher | None:
    """What recognises those of a list who are of a school; None: nobody is."""
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
    """Where the words of a log have an id: near a word for a person, and a long one anywhere."""
    return [
        found.span()
        for found in _IDS.finditer(text)
        if is_id(found[0])
        and (
            len(found[0]) >= LONG_ID
            or _PERSON_WORDS.search(text[max(0, found.start() - 400) : found.start()])
        )
    ]


def is_bounded(text: str, start: int, end: int) -> bool:
    """Whether a stretch of a text is no part of a longer word. Chinese has no gaps between words."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (_goes_on(before, text[start]) or _goes_on(after, text[end - 1]))


def occurrences(text: str, part: str) -> Iterator[tuple[int, int]]:
    """Where a text has a part, overlapping ones too."""
    at = text.find(part)
    while at >= 0:
        yield at, at + len(part)
        at = text.find(part, at + 1)


def holds_name(text: str, name: str) -> bool:
    """Whether a text has a name that is no part of a longer word."""
    return any(is_bounded(text, *span) for span in occurrences(text, name))


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text with BLANK in the place of some stretches; the same object where there are none."""
    parts, at = [], 0
    for start, end in sorted(spans):
        if end > at:
            parts += [text[at : max(at, start)], BLANK if start >= at else ""]
            at = end
    return "".join([*parts, text[at:]]) if parts else text


def _goes_on(outer: str, inner: str) -> bool:
    return bool(outer) and _is_spaced(outer) and _is_spaced(inner)


def _is_spaced(letter: str) -> bool:
    """Whether a letter or digit is of a script that puts gaps between words."""
    return letter.isalnum() and not "\u2e80" <= letter <= "\uffdc"


def _joined(known: Entry, entry: Entry) -> Entry:
    return msgspec.structs.replace(
        known,
        marks=tuple(dict.fromkeys((*known.marks, *entry.marks))),
        lengths=tuple(sorted({*known.lengths, *entry.lengths})),
    )


@dataclass
class _Known:
    """A list as it was read last, and what recognises those on it, by school. `mark`: of the object that was
    read."""

    mark: object
    forgotten: Forgotten
    matchers: dict[int, Matcher | None] = field(default_factory=dict)


#: By root of the lake.
_KNOWN: dict[str, _Known] = {}


def _mark(lake: Lake) -> object | None:
    try:
        with told_plainly():
            head = obstore.head(lake.objects, NAME)
    except FileNotFoundError:
        return None
    return head["e_tag"], head["last_modified"], head["size"]


def _read(lake: Lake) -> tuple[Forgotten, str | None]:
    try:
        with told_plainly():
            found = obstore.get(lake.objects, NAME)
            content = bytes(found.bytes())
    except FileNotFoundError:
        return Forgotten(), None
    return msgspec.json.decode(content, type=Forgotten), found.meta["e_tag"]
