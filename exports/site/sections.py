"""The names of exports of pages, of the kinds of pages, and of their readers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

#: The name of the export of pages.
SITE = "site"
#: The name of the export of workbooks beside the pages.
WORKBOOK = "workbook"
#: The kinds of pages, each a folder of the site. The index is one page at its root.
PageKind = Literal["index", "cohort", "class", "course", "student"]
#: The keys of the pages that a site has, by kind. Cells link to these only.
Pages = Mapping[PageKind, Collection[str]]

#: `class-teacher`: head and deputy teachers of administrative classes. `teacher`: teachers of course classes.
Role = Literal["head", "class-teacher", "teacher"]
#: The pages that cells link to: by column, the kind of page and the column with its key.
Links = Mapping[str, tuple[PageKind, str]]
