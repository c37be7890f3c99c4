"""The worlds that both versions run through: platforms, and what happens there and at home, night by night.

Schools are small, so that all worlds together take minutes. All rows come from the simulator's seed. A new
command or a new kind of output needs a line in one of these worlds."""

from collections.abc import Mapping
from typing import Any

from tests.kits.platforms.awkward import AWKWARD
from tools.unchanged.steps import Campus, Change, DaysPass, Helps, Step, World, WriteFile

#: A school of one class, in the third week of its second semester.
SMALL: Mapping[str, Any] = {
    "schools": 1,
    "students": 24,
    "semesters": 2,
    "core_subjects": 3,
    "dataset_rows": 200,
    "other_grades": "beside",
    "double_booked": 20,
    "today": "2025-03-06",
}
#: One request at a time, since chance decides which of several requests first meets a refusal.
ONE_BY_ONE = "platform: {concurrency: 1}\n"
REPORTS = """
reports:
  - report: student_summary
  - report: 成绩透视表
    matrix: {semester: [20241, 20242]}
  - report: certificates
    parameters: {period: ["2025-01-01", "2025-12-31"]}
"""
SITES = "exports: {site: [head, class-teacher, teacher], guardians: true, tables: [marts.transcript_gpa]}\n"
TALKS = """student number,date,what,note
000019,2025-03-03,talk,家长
000020,2025-03-04,plan,
1,2025-03-04,talk,nobody has this number
"""
SHARDS = "publish: {schools_per_shard: 1, tables: delta, freeze_after_days: 30}\n"
NO_DATASETS = "datasets: {include: []}\n"
ENGLISH = "exports: {language: en, format: csv}\n"

DEMO = World(
    "demo",
    (
        Step("after campus demo", "2025-05-17 10:00", (Campus("demo"),), clock_runs=True),
        Step(
            "after exports",
            "2025-05-17 13:00",
            (
                Campus("status"),
                Campus("metric"),
                Campus("metric attendance_rate --by class --since 2025-05-01"),
                Campus('sql "FROM marts.early_warning ORDER BY ALL LIMIT 20" --format csv'),
                Campus("thresholds"),
                Campus("mcp --guide"),
                Campus("extract --pseudonymous --to {home}/../study.duckdb --dry-run"),
                Campus("export --all"),
            ),
        ),
    ),
)

ODD = World(
    "odd platform",
    (
        Step(
            "after the first night",
            "2025-03-06 20:00",
            (
                # A row that no table can hold, and a value that its column cannot hold.
                Change("update", "students", row=3, values={"id": "no number"}),
                Change("update", "grades", row=5, values={"rank": "第三"}),
                Campus("sync", status=1),
                Campus("quarantine list"),
                Campus("status", status=1),
            ),
        ),
        Step(
            "after the second night",
            "2025-03-07 20:00",
            (
                DaysPass(1),
                Change("update", "grades", row=1, values={"score": "7", "real_score": "7"}),
                Change("delete", "grades", row=2),
                Change("update", "students", row=3, values={"name": "改名"}),
                Campus("sync", status=1),
                Campus("doctor", status=1),
                Campus("export --all"),
            ),
        ),
    ),
    platform={**SMALL, **AWKWARD, "students": 12},
    settings=ONE_BY_ONE + ENGLISH,
)

CHANGES = World(
    "changes",
    (
        Step(
            "after the first night",
            "2025-03-06 20:00",
            (
                WriteFile("home/inputs/101/interventions.csv", TALKS),
                Campus("doctor", status=1),
                Campus("sync", status=1),
                Campus("status", status=1),
                Campus("inputs check", status=1),
                Campus("inputs template template.xlsx --language en"),
                Campus("export --all"),
                Campus("export contract schema oneroster workbook --for class-teacher"),
            ),
        ),
        Step(
            "after a second night without changes",
            "2025-03-06 22:00",
            (Campus("sync", status=1), Campus("status", status=1)),
        ),
        Step(
            "after a night with changes",
            "2025-03-07 20:00",
            (
                DaysPass(1),
                Change("insert", "students", values={"name": "新同学"}),
                Change("update", "students", row=0, values={"name": "改名"}),
                Change("delete", "students", row=1),
                Change("destroy", "teachers", row=0),
                Change("update", "terms", row=0, values={"name": "改名"}),
                Change("update", "classes", semester=10102, row=0, values={"name": "改名"}),
                Change("insert", "classes", semester=10102, values={"name": "新课"}),
                Change("delete", "classes", semester=10102, row=2),
                Change("update", "class_members", semester=10102, row=0, values={"class_together": True}),
                Change("delete", "class_members", semester=10102, row=1),
                Change("update", "grades", semester=10102, row=0, values={"score": "1", "real_score": "1"}),
                Change("destroy", "grades", semester=10102, row=1),
                Change("update", "scores", semester=10102, row=0, values={"score": "0.25"}),
                Change("destroy", "scores", semester=10102, row=1),
                Change("update", "v1_users", row=0, values={"name": "改名"}),
                Change("update", "attendance_records", semester=10102, row=0, values={"result": "absent"}),
                Change("update", "datasets/big_scores", row=0),
                Change("destroy", "datasets/big_scores", row=1),
                Change("insert", "datasets/course_scores"),
                Campus("sync", status=1),
                Campus("export --all"),
                Campus("forget --school 101 --student 101000025 --dry-run"),
            ),
        ),
        Step(
            "after everything was read again",
            "2025-03-17 20:00",
            (
                DaysPass(10),
                Campus("sync --full --accept-vanished", status=1),
                Campus("status", status=1),
                Campus("export marts.early_warning core.dim_student --format parquet"),
                Campus("backup {home}/../backups --first"),
            ),
        ),
    ),
    platform=SMALL,
    settings=ONE_BY_ONE + REPORTS + SITES,
    environment={"CAMPUS_DEVICE_IDS": "pad-101-1,no-pad", "CAMPUS_CARD_IDS": "card-101000019,no-card"},
)

DISTRICT = World(
    "district",
    (
        Step(
            "after the first night",
            "2025-03-06 20:00",
            (
                Campus("sync"),
                Campus("status"),
                Campus("catalog"),
                Campus('sql "SELECT school_id, count(*) FROM core.dim_student GROUP BY ALL ORDER BY ALL"'),
                Campus("export board attendance"),
            ),
        ),
        Step(
            "after a night with changes in a school",
            "2025-03-07 20:00",
            (
                Change("update", "students", school=102, row=0, values={"name": "改名"}),
                Campus("sync"),
                Campus("build"),
            ),
        ),
    ),
    platform={**SMALL, "schools": 2, "students": 12},
    settings=ONE_BY_ONE
    + "publish: {schools_per_shard: 1, tables: delta, freeze_after_days: 30}\ndatasets: {include: []}\n",
)

ROSTER = """outer_id,usin,name,role,graduates_in,gender
S-101000019,000019,新名字,学生,2025,男
S-new-1,N000001,新生,学生,2025,女
S-new-2,,没有学号,学生,2025,女
"""
MARKS = """class_id,date,lesson,rid,result
1010200004,2025-03-03,9,101000019,absent
1010200004,2025-03-03,9,101000020,迟到
1010200004,2025-03-03,9,9,absent
"""
SWIPES = """classroom_id,rid,created_at
905001,101000021,2025-03-03 08:07:00
905001,9,2025-03-03 08:08:00
"""

WRITES = World(
    "writes",
    (
        Step("after the first night", "2025-03-06 20:00", (Campus("sync"),)),
        Step(
            "after writes",
            "2025-03-06 21:00",
            (
                WriteFile("roster.csv", ROSTER),
                WriteFile("marks.csv", MARKS),
                WriteFile("swipes.csv", SWIPES),
                Campus("roster plan roster.csv --school 101 --personal", status=1),
                Campus("roster apply home/plans/roster-101-*.json --no-build"),
                Campus("attendance write marks.csv --dry-run", status=1),
                Campus("attendance write marks.csv --no-build", status=1),
                Campus("swipes send swipes.csv --no-build", status=1),
                Campus("swipes now --classroom 910007 --student 101000021", status=1),
                Campus("cards bind card-17 000023 --no-build", stdin="123456\n"),
                Campus("cards bind card-18 000022 --no-build", stdin="wrong\n", status=1),
                Campus("cards unbind card-101000019 --no-build"),
                Campus("cards list --personal"),
                Campus("devices bind AA:BB:CC 905001 --no-build"),
                Campus("devices list"),
                Campus("fields set bus --role student --label 校车 --option 1号 --option 2号 --no-build"),
                Campus("fields list"),
                Campus("fields remove bus --no-build"),
                Campus("build"),
                Campus("status"),
            ),
        ),
    ),
    platform={**SMALL, "students": 12},
    settings=ONE_BY_ONE + "writes: {settling: 0}\n" + NO_DATASETS,
    environment={"CAMPUS_ALLOW_WRITES": "true"},
)

MESSAGES = World(
    "messages",
    (
        Step(
            "of commands without a platform",
            "2025-03-06 20:00",
            (
                Helps(),
                Campus("--version"),
                Campus("sink", status=2),
                Campus("sync --fill", status=2),
                Campus("sync", status=2, environment={"CAMPUS_BASE_URL": ""}),
                Campus("status", status=2, environment={"CAMPUS_HOMES": "x"}),
                Campus("sync", status=1, environment={"CAMPUS_BASE_URL": "http://127.0.0.1:9"}),
                Campus("doctor", status=1, environment={"CAMPUS_BASE_URL": "http://127.0.0.1:9"}),
                Campus("sync", status=2, environment={"CAMPUS_BASE_URL": "http://school.example"}),
                Campus("doctor", status=1, environment={"CAMPUS_CLIENT_SECRET": "wrong"}),
                Campus("sync", status=1, environment={"CAMPUS_CLIENT_SECRET": "wrong"}),
                Campus("sync --school 999", status=2),
                Campus("status", status=1),
                *(
                    Campus(arguments, status=1)
                    for arguments in ('sql "FROM core.dim_student"', "export --all", "metric")
                ),
                Campus("catalog", status=2),
                Campus("build"),
                Campus("status", status=1, environment={"CAMPUS_HOME": "/dev/null/home"}),
                WriteFile("home/campus.yaml", "platform: {concurency: 4}\nsafety: {max_vanished_share: 7}\n"),
                Campus("status", status=2),
            ),
        ),
    ),
    platform=SMALL,
)

#: The longest worlds first, so that both cores are busy until the end.
WORLDS = (CHANGES, DEMO, DISTRICT, ODD, WRITES, MESSAGES)
