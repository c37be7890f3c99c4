"""Files for people as assets: an asset for each ready-made workbook, an asset for the tables of campus.yaml,
and an asset for the sites of schools."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import dagster as dg

from assets.publication.models import PUBLISHED, require_published
from assets.shared import markdown
from assets.shared.partitions import PUBLISHED_SCHOOLS
from exports.export import Failed, Options, Written, export
from exports.names import BOARD
from exports.site.folders import READERS, SITE, WRITTEN, pages_in
from warehouse.published.shards import Published


def export_assets(
    published: Published,
    exports: Mapping[str, Sequence[str]],
    school_ids: Sequence[int] | None,
    options: Options,
    after: dg.AssetKey = PUBLISHED,
) -> list[dg.AssetsDefinition]:
    """The assets `exports/<name>`, which write files for each school of the published file.

    Args:
        exports: The names of the exports that an asset writes, by the name of the asset.
        after: The asset that is published last."""

    def asset_of(name: str, names: Sequence[str]) -> dg.AssetsDefinition:
        @dg.asset(
            key=dg.AssetKey(["exports", name]),
            deps=[after],
            group_name="exports",
            description=f"{', '.join(names)} as files in {options.folder}, one for each school.",
            kinds={"html" if name == BOARD else options.format},
        )
        def written() -> dg.MaterializeResult[None]:
            require_published(published)
            ends = list(export(published, names, school_ids, replace(options, previews=True)))
            files = [end for end in ends if isinstance(end, Written)]
            problems = [f"{end.subject}: {end.problem}" for end in ends if isinstance(end, Failed)]
            if problems:
                raise dg.Failure("; ".join(problems), metadata=_metadata(files), allow_retries=False)
            return dg.MaterializeResult(metadata=_metadata(files))

        return written

    return [asset_of(name, names) for name, names in exports.items()]


def site_asset(published: Published, options: Options, after: dg.AssetKey = PUBLISHED) -> dg.AssetsDefinition:
    """The asset `exports/site`: a partition is a school. A run writes the sites of all its schools."""
    key = dg.AssetKey(["exports", SITE])

    # skippable: each school is logged once it is written, so a failed school is not shown as written.
    @dg.multi_asset(
        name="exports__site",
        specs=[
            dg.AssetSpec(
                key,
                deps=[after],
                group_name="exports",
                description=f"Pages for {', '.join(options.roles)} in {options.folder}. A partition is the "
                "id of a school of the published file.",
                kinds={"html"},
                skippable=True,
            )
        ],
        partitions_def=PUBLISHED_SCHOOLS,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def site(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        require_published(published)
        problems: list[str] = []
        for school in context.partition_keys:
            if not school.isdecimal():
                problems.append(f"{school!r} is no id of a school")
                continue
            ends = list(export(published, [SITE], [int(school)], options))
            failed = [f"{end.subject}: {end.problem}" for end in ends if isinstance(end, Failed)]
            if not failed:
                sites = [end for end in ends if isinstance(end, Written)]
                event = dg.AssetMaterialization(key, partition=school, metadata=_site_metadata(sites))
                context.log_event(event)
            problems += failed
        if problems:
            raise dg.Failure("; ".join(problems), allow_retries=False)
        yield from ()

    return site


def _site_metadata(sites: Sequence[Written]) -> dict[str, dg.MetadataValue]:
    """The readers, pages and new files of each role, without names."""
    counts = [
        (
            site.path.name,
            site.rows.get(READERS, 0),
            pages_in(site.rows),
            site.rows.get(WRITTEN, 0),
            site.bytes,
        )
        for site in sites
    ]
    rows = [(role, *(f"{count:,}" for count in numbers)) for role, *numbers in counts]
    headings = ("role", "readers", "pages", "files new or changed", "bytes")
    return {
        "sites": markdown.value(markdown.table(headings, rows)),
        "pages": dg.MetadataValue.int(sum(pages_in(site.rows) for site in sites)),
        "files written": dg.MetadataValue.int(sum(site.rows.get(WRITTEN, 0) for site in sites)),
    }


def _metadata(files: Sequence[Written]) -> dict[str, dg.MetadataValue]:
    """The files with their sizes, and their first rows unless the rows are about single persons."""
    rows = [(file.path, f"{sum(file.rows.values()):,}", f"{file.bytes:,}") for file in files]
    previews = [f"{markdown.text(file.path.name)}\n\n{file.preview}" for file in files if file.preview]
    return {
        "files": markdown.value(markdown.table(("file", "rows", "bytes"), rows)),
        "dagster/row_count": dg.MetadataValue.int(sum(sum(file.rows.values()) for file in files)),
        "bytes": dg.MetadataValue.int(sum(file.bytes for file in files)),
        "preview": markdown.value(*previews or ["Rows about persons are not shown here."]),
    }
