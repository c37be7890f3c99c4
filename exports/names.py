"""The names of what can be exported. Settings and commands import them, so the module loads quickly."""

from __future__ import annotations

from typing import Literal

#: The workbooks of `exports.library`.
OF_LIBRARY = ("attendance", "grades", "early_warning")
#: All ready-made workbooks (ready.py).
READY = (*OF_LIBRARY, "reports")
#: The name of the pages of `exports.board`, which are no workbooks.
BOARD = "board"
#: The name of the zip of `exports.oneroster`, and the versions of the standard.
ONEROSTER = "oneroster"
Version = Literal["1.1", "1.2"]
#: Schemas whose tables can be exported.
SCHEMAS = ("marts", "core", "datasets", "reports")
