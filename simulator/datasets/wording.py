"""The metadata of dataset fields in this platform's words: the type, and the flag of primary keys."""

from collections.abc import Callable, Mapping
from typing import Any

from simulator.readings import Readings
from simulator.school.rows import Values

# Words in place of the specification's. Types that a vocabulary lacks keep the specification's word.
SHORT = {
    "integer": "int",
    "decimal": "number",
    "string": "str",
    "text": "varchar",
    "timestamp": "datetime",
    "boolean": "bool",
    "json": "object",
}
JAVA = {
    "integer": "java.lang.Long",
    "decimal": "java.math.BigDecimal",
    "string": "String",
    "text": "String",
    "date": "LocalDate",
    "timestamp": "java.time.LocalDateTime",
    "boolean": "Boolean",
    "json": "Map<String, Object>",
}
UNKNOWN = {
    "integer": "ganzzahl",
    "decimal": "kommazahl",
    "string": "zeichenkette",
    "text": "fliesstext",
    "enum": "auswahl",
    "date": "tag",
    "timestamp": "zeitpunkt",
    "boolean": "wahrheitswert",
    "json": "beliebig",
}


def sent_metadata(field: Values, readings: Readings) -> Values:
    """The metadata of a field as the platform sends it."""
    sent = {**field, "type": WORDS[readings.dataset_type_words](field)}
    if readings.dataset_primary == "absent":
        del sent["primary"]
    elif readings.dataset_primary == "number":
        sent["primary"] = int(field["primary"])
    elif readings.dataset_primary == "text":
        sent["primary"] = "true" if field["primary"] else "false"
    return sent


def _sql(field: Values) -> str:
    match field["type"]:
        case "integer":
            return "bigint(20) unsigned" if field["primary"] else "int(11)"
        case "decimal":
            return f"decimal({field['precision']},{field['scale']})"
        case "string":
            return f"varchar({field['max_length'] or 255})"
        case "text":
            return "longtext"
        case "enum":
            return f"enum({','.join(repr(value) for value in field['enum'] or ())})"
        case "timestamp":
            return "timestamp without time zone"
        case "boolean":
            return "tinyint(1)"
    return str(field["type"])


def _string_ids(field: Values) -> str:
    return "string" if field["primary"] and field["type"] == "integer" else str(field["type"])


def _of(words: Mapping[str, str]) -> Callable[[Values], Any]:
    return lambda field: words.get(field["type"], field["type"])


WORDS: dict[str, Callable[[Values], Any]] = {
    "spec": lambda field: field["type"],
    "short": _of(SHORT),
    "sql": _sql,
    "java": _of(JAVA),
    "upper": lambda field: str(field["type"]).upper(),
    "number": _of({"integer": "number", "decimal": "number"}),
    "string_ids": _string_ids,
    "unknown": _of(UNKNOWN),
}
