"""LongsightGroup/oneroster, a reader of the CSV binding 1.2.1 for Node that passes its 719 official cases.

The repository has no copy of it: ONEROSTER_READER names the `dist/index.js` of a build."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

READER = os.environ.get("ONEROSTER_READER", "")
#: Why the reader cannot be asked; empty: it can.
ABSENT = (
    "node is not installed"
    if not shutil.which("node")
    else ""
    if READER
    else "ONEROSTER_READER names no dist/index.js of LongsightGroup/oneroster"
)
#: Prints the diagnostics of each zip, without the rows.
SCRIPT = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const [reader, ...zips] = process.argv.slice(1);
const { parseAndValidateOneRosterCsvFullZip } = await import(pathToFileURL(reader));
const diagnostics = zips.map((zip) => {
  const read = parseAndValidateOneRosterCsvFullZip(readFileSync(zip), { referenceMode: "allRows" });
  return read._tag === "ok" ? [] : read.error;
});
const shown = diagnostics.map((of) => of.map((d) => [d.code, d.fileName, d.field, d.rowNumber]));
console.log(JSON.stringify(shown));
"""


def diagnostics(zips: Sequence[Path]) -> list[list[list[str | int | None]]]:
    """What the reader refuses in each zip: code, file, field and row; empty: nothing."""
    answer = subprocess.run(
        ["node", "--input-type=module", "--eval", SCRIPT, READER, *map(str, zips)],
        capture_output=True,
        text=True,
        check=True,
    )
    read: list[list[list[str | int | None]]] = json.loads(answer.stdout)
    return read
