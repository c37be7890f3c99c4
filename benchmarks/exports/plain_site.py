"""Writes the pages of a school in the simplest way: a query for each section of each page, and one template.

python -m benchmarks.exports.plain_site PUBLISHED FOLDER PAGES      at most PAGES pages of each kind

Prints the seconds that all pages would take, in proportion. The queries are those of the site, so that the
pages have the same data: no links, labels in the other language, drawings or calendars.
"""

import json
import sys
import time
from pathlib import Path

import duckdb
from jinja2 import Environment

from exports.library.sheet_library import make_sheet
from exports.site.kinds import kinds
from exports.site.write import titles_of

TEMPLATE = """<!doctype html><meta charset="utf-8"><h1>{{ key }}</h1>
{% for name, columns, rows in sections %}<h2>{{ name }}</h2>
<table><tr>{% for column in columns %}<th>{{ column }}</th>{% endfor %}</tr>
{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</table>{% endfor %}"""


def main() -> None:
    """Write and measure."""
    published, folder, pages = sys.argv[1], Path(sys.argv[2]) / "plain", int(sys.argv[3])
    template = Environment(autoescape=True).from_string(TEMPLATE)
    total = {"seconds": 0.0, "cpu": 0.0}
    with duckdb.connect(published, read_only=True, config={"threads": 2}) as con:
        [(school_id,)] = con.execute("SELECT school_id FROM core.dim_school").fetchall()
        for kind, titles in titles_of(con, school_id).items():
            keys = list(titles)
            (folder / kind).mkdir(parents=True)
            started, cpu = time.monotonic(), time.process_time()
            for key in keys[:pages]:
                sections = []
                for section in (kinds()[kind].heading, *kinds()[kind].sections.values()):
                    query = make_sheet(con, section, school_id, "en").query
                    rows = con.execute(query, {"school_id": school_id, "pages": [key]}).fetchall()
                    sections.append((section.name.en, [name for name, *_ in con.description], rows))
                (folder / kind / f"{key}.html").write_text(template.render(key=key, sections=sections))
            share = len(keys) / len(keys[:pages])
            total["seconds"] += (time.monotonic() - started) * share
            total["cpu"] += (time.process_time() - cpu) * share
    print(json.dumps(total))


if __name__ == "__main__":
    main()
