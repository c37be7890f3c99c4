"""The kinds of pages of a site as data (exports/library/site.yml): each has a heading and sections."""

from __future__ import annotations

from functools import cache

from exports.library.view_rows import Data
from exports.library.words import Phrase, content_of
from exports.pages.sections import PageKind, Section
from exports.site.folders import SITE


class Kind(Data):
    """A kind of page."""

    name: Phrase
    #: The column of the heading with the title.
    title: str
    #: A row for each page, whose columns are facts below the title.
    heading: Section
    sections: dict[str, Section]

    def sections_for(self, *, guardians: bool) -> dict[str, Section]:
        """The sections. `guardians`: they may name guardians."""
        if guardians:
            return self.sections
        sections = {name: section.without_guardians() for name, section in self.sections.items()}
        return {name: section for name, section in sections.items() if section is not None}


@cache
def kinds() -> dict[PageKind, Kind]:
    """The kinds of pages. Raises pydantic.ValidationError."""
    return {kind: Kind.model_validate(data) for kind, data in content_of(SITE)["kinds"].items()}
