"""Writes the board of a large school, first in a new home and then again: seconds and size. Each is a
separate process from its start to its end.

    python -m benchmarks.exports.board PUBLISHED SCHOOL [--times 9]

PUBLISHED is a campus.duckdb, as of `campus demo`. A copy of it repeats the students and classes of SCHOOL
`times` times.
"""

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import duckdb

#: The tables of the board with rows of students or classes, and the columns that identify these.
COPIED = {
    "marts.early_warning": ("student_id", "admin_class_id"),
    "marts.attendance_student_semester": ("student_id", "admin_class_id"),
    "marts.attendance_student_day": ("student_id",),
    "marts.attendance_group_week": ("group_id",),
    "core.fct_attendance": ("student_id",),
    "core.fct_grade": ("student_id",),
}
STEP = 10**12
WRITE = """
import sys
from pathlib import Path
from exports.export import Options, Written, export
file, school, folder = sys.argv[1:]
[written] = export(Path(file), ["board"], [int(school)], Options(Path(folder)))
assert isinstance(written, Written), written
"""


def main() -> None:
    """Multiply the school, write the page, print the cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("published", type=Path)
    parser.add_argument("school", type=int)
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--to", type=Path, help="folder to leave the page in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(shutil.copy(options.published, Path(folder) / "campus.duckdb"))
        file.chmod(0o644)
        multiply(file, options.school, options.times)
        out = options.to or Path(folder) / "out"
        for which in ("first", "next"):
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            subprocess.run([sys.executable, "-c", WRITE, file, str(options.school), out], check=True)
            seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            [page] = out.glob("board_*.html")
            print(f"{which}: {seconds:.1f} s, {cpu:.1f} CPU s, {page.stat().st_size / 1e6:.2f} MB")


def multiply(file: Path, school_id: int, times: int) -> None:
    """Repeat a school's students and classes `times` times."""
    with closing(duckdb.connect(str(file))) as con:
        for table, keys in COPIED.items():
            moved = ", ".join(f"{key} + {STEP} * (i + 1) AS {key}" for key in keys)
            names = (
                ", admin_class_name || '-' || (i + 1) AS admin_class_name" if "admin_class_id" in keys else ""
            )
            only = "AND group_type = 'admin_class'" if "group_id" in keys else ""
            con.execute(
                f"INSERT INTO {table} BY NAME SELECT t.* REPLACE ({moved}{names}) "
                f"FROM {table} AS t, range({times - 1}) AS copies (i) WHERE school_id = {school_id} {only}"
            )


if __name__ == "__main__":
    main()
