"""The fields of rows as the platform sends them, by its readings of the specification."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from simulator.readings import Readings
from simulator.school.rows import Row, Values, ids_of
from simulator.store.store import Store
from simulator.wire.directory import Directory

DASH, LETTERS = "-", "ABCD"
#: Fields of rows that are objects, or lists of them.
PEOPLE = ("teachers", "students", "director")
OBJECTS = frozenset({*PEOPLE, "classroom", "locations", "subject", "grade", "attribute", "schedules", "tags"})

Shaper = Callable[[Row, Values], None]  # changes a copy of the row's fields before it is sent
Expander = Callable[["Wire", Row], Any]  # makes a relation of a row for `expand`
Finisher = Callable[["Wire", Row, Values, Collection[str]], None]  # gets the names in `expand`


@dataclass(frozen=True)
class Form:
    """The fields of a resource that depend on readings, and the relations for `expand`."""

    decimals: tuple[str, ...] = ()  # fields that are numbers in strings
    enum: str = ""  # a field with a fixed set of words
    id_lists: Mapping[str, str] = field(default_factory=dict)  # the resource of each list of ids
    objects: tuple[str, ...] = ()  # v1 fields with an object or nothing
    deleted_at: bool = False  # whether the field may be sent, although the field list does not name it
    shapers: "Callable[[Wire], Iterable[Shaper]]" = lambda _: ()  # the resource's changes by the readings
    expand: Mapping[str, Expander] = field(default_factory=dict)
    finish: Finisher | None = None  # the last change, which depends on `expand`


class Wire:
    """Makes rows as the platform sends them."""

    def __init__(self, forms: Mapping[str, Form], store: Store, readings: Readings) -> None:
        self.store = store
        self.readings = readings
        self.directory = Directory(store, readings)
        self._forms = forms
        self._shapers = {
            resource: [*form.shapers(self), *_shapers(form, readings), *self._id_shapers(form)]
            for resource, form in forms.items()
        }

    def rows(self, resource: str, rows: Iterable[Row], expand: Collection[str] = ()) -> list[Values]:
        """Rows of a resource as the platform sends them. Unknown relations are ignored."""
        sent = self._as_named(resource, rows, expand)
        return [_with_nested_fields(row) for row in sent] if self.readings.nested_fields == "some" else sent

    def _as_named(self, resource: str, rows: Iterable[Row], expand: Collection[str]) -> list[Values]:
        form, shapers = self._forms[resource], self._shapers[resource]
        expanders = {name: form.expand[name] for name in expand if name in form.expand}
        if not (shapers or expanders or form.finish):
            return [row.values for row in rows]
        sent = []
        for row in rows:
            values = dict(row.values)
            for shape in shapers:
                shape(row, values)
            for name, expander in expanders.items():
                values[name] = expander(self, row)
            if form.finish:
                form.finish(self, row, values, expand)
            sent.append(values)
        return sent

    def _id_shapers(self, form: Form) -> Iterable[Shaper]:
        if self.readings.id_lists != "numbers" and form.id_lists:
            yield lambda _, values: self._shape_ids(form.id_lists, values)

    def _shape_ids(self, lists: Mapping[str, str], values: Values) -> None:
        for name, whose in lists.items():
            sent = values.get(name)
            if isinstance(sent, list) and ids_of(sent) == sent:
                values[name] = [self._shown_id(whose, key) for key in sent]

    def _shown_id(self, resource: str, key: int) -> Values | str:
        if self.readings.id_lists == "texts":
            return str(key)
        row = self.store.find(resource, key)
        return {"id": key, "name": row.values["name"] if row else ""}

    def cards(self, school_id: int, ids: Iterable[int]) -> list[Values]:
        """People in expanded relations."""
        people = self.store.people(school_id)
        fields = ("id", "name", "usin")
        cards = [{name: people[id_].values[name] for name in fields} for id_ in ids if id_ in people]
        if self.readings.expanded_people == "flat":
            return cards
        return [
            {"id": number, "reflection_id": card["id"], "reflection": card}
            for number, card in enumerate(cards, 1)
        ]


def _shapers(form: Form, readings: Readings) -> Iterable[Shaper]:
    """The changes of fields by the readings of all resources."""
    if readings.deleted_at == "all" and form.deleted_at:
        yield lambda row, values: values.update(deleted_at=row.deleted_at)
    if readings.deleted_at == "none":
        yield lambda row, values: values.pop("deleted_at", None)
    if readings.row_updates == "undated":
        yield lambda row, values: values.pop("updated_at", None)
    if form.decimals:
        if readings.decimals != "short":
            yield _decimals(form.decimals, readings.decimals)
        if readings.marks == "words":
            yield _words
        if readings.marks == "units":
            yield _with_units(form.decimals)
    if form.objects and readings.v1_nothing != "null":
        yield _nothing(form.objects, "" if readings.v1_nothing == "text" else [])
    if form.enum and readings.enums == "unknown":
        yield lambda row, values: values.update({form.enum: "unheard_of"}) if row.key % 10 == 0 else None
    if readings.extra_fields == "some":
        yield lambda row, values: values.update(x_source={"system": "legacy", "row": row.key}, x_note="备注")


def _words(row: Row, values: Values) -> None:
    """Write a dash for missing values, a rate in per cent, and letters for some marks, as schools do."""
    for name in ("gpa", "level", "initial_score"):
        if name in values and values[name] is None:
            values[name] = DASH
    rate = values.get("gained_score_rate")
    if rate:
        number = Decimal(rate if isinstance(rate, str) else bytes(rate).decode())
        values["gained_score_rate"] = f"{number * 100:f}%"
    if row.key % 9 == 0:
        for name in ("score", "real_score", "gained_score"):
            if values.get(name):
                values[name] = LETTERS[row.key % len(LETTERS)]


def _with_units(names: tuple[str, ...]) -> Shaper:
    """Add units to marks and credits. Rates and grade points have no unit."""
    units = dict.fromkeys(names, "分") | {"credit": "学分", "gained_score_rate": "", "gpa": ""}

    def shape(_: Row, values: Values) -> None:
        for name in names:
            if isinstance(values.get(name), str) and values[name]:
                values[name] += units[name]

    return shape


def _nothing(names: tuple[str, ...], form: Any) -> Shaper:
    def shape(_: Row, values: Values) -> None:
        for name in names:
            if name in values and not values[name]:
                values[name] = form

    return shape


def _with_nested_fields(row: Values) -> Values:
    """The row, with a field outside the specification in each nested object."""
    return {name: _fuller(value) if name in OBJECTS else value for name, value in row.items()}


def _fuller(value: Any) -> Any:
    match value:
        case dict():
            return {"x_color": "#1f6feb"} | value
        case list():
            return [_fuller(item) for item in value]
    return value


def _decimals(names: tuple[str, ...], form: str) -> Shaper:
    def shape(_: Row, values: Values) -> None:
        for name in names:
            text = values.get(name)
            if isinstance(text, str) and text:
                values[name] = msgspec.Raw(text.encode()) if form == "number" else f"{Decimal(text):.2f}"

    return shape
