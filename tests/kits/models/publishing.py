"""Builds of the models with all that a publication adds."""

import shutil
from contextlib import closing
from pathlib import Path

import duckdb

from loading.tables import ENDPOINTS, TABLES
from tests.kits.models.builds import Build
from warehouse.publish.dictionary import record_dictionary
from warehouse.publish.lineage import record_lineage
from warehouse.publish.metrics import record_metrics
from warehouse.publish.models.compiled_models import read_project
from warehouse.publish.models.dbt_project import compiled
from warehouse.publish.models.model_runner import Built, run
from warehouse.publish.models.thresholds import read_own, with_own
from warehouse.publish.relations import record_relations

SCHOOL = 1


def publish_strictly(build: Build, folder: Path) -> Path:
    """The file of a home where one failed course is a warning, as it is of student 2."""
    file = publish(build, folder)
    (folder / "thresholds").mkdir()
    (folder / "thresholds" / "early_warning_rules.csv").write_text("indicator,warning\nfailed_courses,1\n")
    project = read_project(compiled())
    own = with_own(project, read_own(folder, project), folder / "seeds")
    with closing(duckdb.connect(str(file))) as con:
        made = [done for done in run(con, own, (), seeds_anew=True) if isinstance(done, Built)]
    assert not [done.problem for done in made if done.problem]
    return file


def publish(build: Build, folder: Path) -> Path:
    file = Path(shutil.copy(build.file, folder / "campus.duckdb"))
    with closing(duckdb.connect(str(file))) as con:
        record_relations(con, compiled())
        record_lineage(con, TABLES.values(), ENDPOINTS)
        record_metrics(con)
        record_dictionary(con, compiled(), TABLES.values(), ENDPOINTS)
        con.execute(
            "INSERT INTO quality.publication (generation, published_at)"
            " VALUES ('20260301T0200', TIMESTAMP '2026-03-01 02:00')"
        )
    return file
