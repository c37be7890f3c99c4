"""Files for people as assets: one for each ready-made workbook, and one for the tables of campus.yaml."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import dagster as dg

from assets import markdown
from assets.models import PUBLISHED
from exports.export import Failed, Options, Written, export
from exports.ready import BOARD
from warehouse.publish.build import of_another_version
from warehouse.published.shards import Published


def export_assets(
    published: Published,
    exports: Mapping[str, Sequence[str]],
    school_ids: Sequence[int] | None,
    options: Options,
    after: dg.AssetKey = PUBLISHED,
) -> list[dg.AssetsDefinition]:
    """The assets `exports/<name>`; `exports` says what each of them writes, for each school of the file.
    `after`: the asset that is published last."""

    def asset_of(name: str, names: Sequence[str]) -> dg.AssetsDefinition:
        @dg.asset(
            key=dg.AssetKey(["exports", name]),
            deps=[after],
            group_name="exports",
            description=f"{', '.join(names)} as files in {options.folder}, one for each school.",
            kinds={"html" if name == BOARD else options.format},
        )
        def written() -> dg.MaterializeResult[None]:
            if not published.exists():
                raise dg.Failure(f"{published} is not there yet: publish it first", allow_retries=False)
            if problem := of_another_version(published):
                raise dg.Failure(problem, allow_retries=False)
            ends = list(export(published, names, school_ids, replace(options, previews=True)))
            files = [end for end in ends if isinstance(end, Written)]
            problems = [f"{end.what}: {end.problem}" for end in ends if isinstance(end, Failed)]
            if problems:
                raise dg.Failure("; ".join(problems), metadata=_metadata(files), allow_retries=False)
            return dg.MaterializeResult(metadata=_metadata(files))

        return written

    return [asset_of(name, names) for name, names in exports.items()]


def _metadata(files: Sequence[Written]) -> dict[str, dg.MetadataValue]:
    """Where the files are, how big, and their first rows as far as these are about no single person."""
    rows = [(file.path, f"{sum(file.rows.values()):,}", f"{file.bytes:,}") for file in files]
    previews = [f"{markdown.text(file.path.name)}\n\n{file.preview}" for file in files if file.preview]
    return {
        "files": markdown.value(markdown.table(("file", "rows", "bytes"), rows)),
        "dagster/row_count": dg.MetadataValue.int(sum(sum(file.rows.values()) for file in files)),
        "bytes": dg.MetadataValue.int(sum(file.bytes for file in files)),
        "preview": markdown.value(*previews or ["Rows about persons are not shown here."]),
    }
