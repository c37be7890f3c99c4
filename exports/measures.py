"""The words of measures, from the catalogue (warehouse/metrics.py)."""

from __future__ import annotations

from collections.abc import Mapping

from exports.spreadsheet.sheets import Definition, Words
from warehouse.metrics import catalogue


def label(name: str) -> Words:
    """The name of a measure."""
    metric = catalogue().metrics[name]
    return Words(metric.label, metric.label_zh)


def definition(name: str, thresholds: Mapping[str, str] | None = None) -> Definition:
    """The name of a measure and its definition. `thresholds`: those of the school, by name."""
    return Definition(label(name), Words(*catalogue().metrics[name].definitions(thresholds)))
