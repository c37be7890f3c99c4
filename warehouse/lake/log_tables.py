"""Tables of the lake that the warehouse writes about itself."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from warehouse.age import RETIRED as RETIRED
from warehouse.lake.tables import TIMESTAMP, Column


@dataclass(frozen=True)
class Log:
    """A table of the warehouse's own rows; `slice_columns` are the lake's partition columns: one that is none
    of `columns` is text, and not published. `kept_as`: its folder where that has another name."""

    name: str
    comment: str
    columns: tuple[Column, ...]
    slice_columns: tuple[str, ...] = ()
    kept_as: str = ""
    label_zh: str = ""

    @property
    def folder(self) -> str:
        """Where the table lies below the lake's root."""
        return self.kept_as or self.name

    @property
    def row_schema(self) -> pa.Schema:
        """What a row says, which is what is published."""
        return pa.schema([pa.field(column.name, column.type) for column in self.columns])

    @property
    def lake_schema(self) -> pa.Schema:
        """The same, and the partition columns that a row does not say."""
        known = self.row_schema
        return pa.schema(
            [*known, *(pa.field(n, pa.string()) for n in self.slice_columns if n not in known.names)]
        )


_OF = (
    Column("resource", pa.string(), "Table of the lake, named as in raw", label_zh="资源"),
    Column("_school_id", pa.int64(), "School that was read", label_zh="学校ID"),
)
_WHERE = (
    *_OF,
    Column("slice", pa.string(), "Slice of the table, such as school:semester", label_zh="数据分片"),
)
_SEEN = (
    Column("first_seen", TIMESTAMP, "Start of the sync that met it first", label_zh="首次发现时间"),
    Column("last_seen", TIMESTAMP, "Start of the sync that met it last", label_zh="最近发现时间"),
)
#: The month that a row of the load log is filed by, such as 2026-03: who asks for new ones reads no old ones.
MONTH = "_month"
_TRAFFIC = (
    Column("requests", pa.int64(), "HTTP requests that the reading took", label_zh="请求数", unit="requests"),
    Column("pages", pa.int64(), "HTTP pages that the reading took", label_zh="页数", unit="pages"),
    Column("retries", pa.int64(), "HTTP retries that the reading took", label_zh="重试次数", unit="requests"),
    Column("bytes", pa.int64(), "HTTP bytes that the reading took", label_zh="字节数", unit="bytes"),
)

#: What the reading side may count, beside rows.
TRAFFIC = tuple(column.name for column in _TRAFFIC)

LOAD_LOG = Log(
    name="load_log",
    comment="One row a slice and sync: what was read, and what that changed",
    label_zh="加载日志",
    columns=(
        *_WHERE,
        Column(
            "sync_id", pa.string(), "Cause of the sync: a night, a command or a backfill", label_zh="同步ID"
        ),
        Column("run_id", pa.string(), "Run that carried it out", label_zh="运行ID"),
        Column("started_at", TIMESTAMP, "When the reading began", label_zh="开始时间"),
        Column("finished_at", TIMESTAMP, "When the slice was written down", label_zh="完成时间"),
        Column(
            "status",
            pa.string(),
            "ok, warning (loaded, but look at the message), failed or retired",
            label_zh="状态",
        ),
        Column(
            "message", pa.string(), "What is wrong and what to do; empty where all is well", label_zh="说明"
        ),
        Column("complete", pa.bool_(), "Whether the reading provably missed nothing", label_zh="是否完整"),
        Column(
            "whole",
            pa.bool_(),
            "Whether all of the slice was read, and not only what changed",
            label_zh="是否全量",
        ),
        Column(
            "received",
            pa.int64(),
            "Rows sent: loaded + quarantined + duplicates",
            label_zh="收到行数",
            unit="rows",
        ),
        Column(
            "loaded",
            pa.int64(),
            "Rows taken over: new + changed + unchanged + returned + deleted",
            label_zh="入库行数",
            unit="rows",
        ),
        Column(
            "quarantined", pa.int64(), "Rows without a key that can be read", label_zh="隔离行数", unit="rows"
        ),
        Column(
            "duplicates",
            pa.int64(),
            "Rows beaten by a better one of the same key",
            label_zh="重复行数",
            unit="rows",
        ),
        Column("new", pa.int64(), "Rows not held before", label_zh="新增行数", unit="rows"),
        Column(
            "changed", pa.int64(), "Rows that differ from what was held", label_zh="变更行数", unit="rows"
        ),
        Column("unchanged", pa.int64(), "Rows that are the same", label_zh="未变行数", unit="rows"),
        Column("returned", pa.int64(), "Tombstones that are alive again", label_zh="恢复行数", unit="rows"),
        Column(
            "deleted",
            pa.int64(),
            "Rows that the platform now shows as deleted",
            label_zh="删除行数",
            unit="rows",
        ),
        Column(
            "vanished",
            pa.int64(),
            "Rows that a complete reading lacks: tombstones now",
            label_zh="消失行数",
            unit="rows",
        ),
        Column(
            "carried",
            pa.int64(),
            "Rows that the reading lacks without proof: kept as they were",
            label_zh="沿用行数",
            unit="rows",
        ),
        Column(
            "server_total",
            pa.int64(),
            "The platform's own count, where it gives one",
            label_zh="平台总数",
            unit="rows",
        ),
        *_TRAFFIC,
        Column(
            "slice_version",
            pa.int64(),
            "Commits of the slice so far; 0: nothing was ever written",
            label_zh="数据批次",
        ),
        Column(
            "platform_day",
            pa.date32(),
            "The platform's own date, where the reading went by it",
            label_zh="平台日期",
        ),
    ),
    slice_columns=(MONTH,),
)
QUARANTINE = Log(
    name="quarantine",
    comment="Rows without a key that can be read, as the platform sent them",
    label_zh="隔离数据",
    columns=(
        *_WHERE,
        Column("key", pa.string(), "Primary key as JSON array; null where unreadable", label_zh="主键"),
        Column("reason", pa.string(), "Which field breaks which rule", label_zh="原因"),
        Column("raw", pa.string(), "The row's JSON as sent", label_zh="原文"),
        Column("unit", pa.string(), "Request or part that it came with", label_zh="读取单元"),
        *_SEEN,
        Column("sync_id", pa.string(), "Sync that met it last", label_zh="同步ID"),
    ),
    slice_columns=("_school_id",),
)
_DIFFERENCE = (
    Column("kind", pa.string(), "unknown_field, absent_field, unknown_value and the like", label_zh="类别"),
    Column("field", pa.string(), "Field concerned; of an object inside a row by its path", label_zh="字段"),
    Column("value", pa.string(), "A sample", label_zh="值"),
    Column("rows", pa.int64(), "Rows that show it", label_zh="行数", unit="rows"),
)
DIFFERENCES = Log(
    name="differences",
    comment="Where the platform departs from the contract now, without breaking it, slice by slice",
    label_zh="接口差异现状",
    columns=(*_WHERE, *_DIFFERENCE, *_SEEN),
    slice_columns=("_school_id",),
    # Its name while it was all that was known of drift.
    kept_as="drift",
)
#: Whether a difference began or ended.
BEGAN, ENDED = "began", "ended"
DRIFT = Log(
    name="drift",
    comment="What changed in where the platform departs from the contract: one row a difference of a "
    "school's resource that began or ended; append-only",
    label_zh="接口偏差",
    columns=(
        *_OF,
        *_DIFFERENCE,
        Column(
            "change",
            pa.string(),
            "began: no slice had it before; ended: none has it any more",
            label_zh="变化",
        ),
        Column("seen_at", TIMESTAMP, "Start of the run that found it so", label_zh="发现时间"),
        Column(
            "sync_id",
            pa.string(),
            "Its cause; null: taken over from an earlier version's notes",
            label_zh="同步ID",
        ),
    ),
    kept_as="drift_changes",
)
RECONCILIATION = Log(
    name="stated_counts",
    comment="Numbers that the platform stated beside those that a load found, slice by slice; what came of "
    "them is in reconciliation",
    label_zh="平台声明数",
    columns=(
        *_WHERE,
        Column("measure", pa.string(), "What is compared, in words", label_zh="对账项目"),
        Column("expected", pa.int64(), "The platform's number", label_zh="应有数"),
        Column("actual", pa.int64(), "What the load found", label_zh="实际值"),
        Column("agrees", pa.bool_(), "Whether they are equal", label_zh="是否一致"),
        Column("seen_at", TIMESTAMP, "Start of the sync", label_zh="发现时间"),
    ),
    slice_columns=("_school_id",),
    # Its name before there was a model of all that is compared.
    kept_as="reconciliation",
)
CHANGES = Log(
    name="changes",
    comment="What changed in scores and grades between syncs; append-only",
    label_zh="成绩与得分变更日志",
    columns=(
        *_WHERE,
        Column(
            "key",
            pa.string(),
            "Primary key: the id, or a JSON array of a composite key; null: the slice",
            label_zh="主键",
        ),
        Column(
            "op",
            pa.string(),
            "loaded (the slice, first), created, updated, deleted or returned",
            label_zh="操作",
        ),
        Column("field", pa.string(), "Field that changed; null: the row as a whole", label_zh="字段"),
        Column("before", pa.string(), "Value before, as text; lists and objects as JSON", label_zh="变更前"),
        Column("after", pa.string(), "Value after, as text", label_zh="变更后"),
        Column(
            "seen_at",
            TIMESTAMP,
            "Start of the sync that saw it, as in load_log.started_at",
            label_zh="发现时间",
        ),
        Column("slice_version", pa.int64(), "Version of the slice that shows it first", label_zh="数据批次"),
    ),
    slice_columns=("resource", "_school_id"),
)

PAST_ROWS = Log(
    name="past_rows",
    comment="Rows of raw as they were before a sync found them otherwise, which core.grades_as_of and its "
    "like go by; append-only",
    label_zh="历史行",
    columns=(
        *_OF,
        Column("slice", pa.string(), "Slice that held the row; null: of the school", label_zh="数据分片"),
        Column(
            "row",
            pa.string(),
            "JSON object of its columns, as text each; null: a mark, before which the past is not known "
            "(personal)",
            label_zh="行内容",
        ),
        Column(
            "known_from",
            TIMESTAMP,
            "Start of the sync that found it so: its _synced_at",
            label_zh="已知起",
        ),
        Column("known_to", TIMESTAMP, "Start of the sync that found it otherwise", label_zh="已知止"),
    ),
    slice_columns=("resource", "_school_id"),
)

#: What follows from the load log, so that nobody has to read all of it; not published.
STANDINGS = Log(
    name="standings",
    comment="Where each slice stands by the load log: its last attempt, and the last one that missed nothing",
    columns=(
        *_WHERE,
        Column("sync_id", pa.string(), "Cause of the last attempt"),
        Column("status", pa.string(), "Status of the last attempt"),
        Column("finished_at", TIMESTAMP, "When the last attempt was written down"),
        Column(
            "complete_at", TIMESTAMP, "Start of the last load that provably missed nothing; null: none did"
        ),
        Column("whole_at", TIMESTAMP, "Start of the last such load that read all of the slice"),
        Column("retired", pa.bool_(), "Whether the slice was emptied since, as what it was of is gone"),
        Column("state", pa.string(), "Name of what the last whole load read, and of the files it left"),
        Column("requests", pa.int64(), "HTTP requests of the last attempt; null: it failed, or is not known"),
        Column(
            "followed_at",
            TIMESTAMP,
            "Start of the last load that read again what changes of other tables had made doubtful",
        ),
    ),
    slice_columns=("_school_id",),
)

#: Counted as each published file is filled.
SLICES = Log(
    name="slices",
    comment="How many rows this file has of each slice that holds any",
    label_zh="分片行数",
    columns=(
        *_WHERE,
        Column("alive", pa.int64(), "Rows that the platform has", label_zh="现存行数", unit="rows"),
        Column("gone", pa.int64(), "Rows that it has no more: tombstones", label_zh="已删行数", unit="rows"),
    ),
)

#: Made with each published file, of what the lake holds, so that models and loads count alike.
SEMESTER_CALENDARS = Log(
    name="semester_calendars",
    comment="Which semester of v1 is which of v3, and where its teaching weeks begin; one row a semester",
    label_zh="学期对照与周次",
    columns=(
        Column("_school_id", pa.int64(), "School", label_zh="学校ID"),
        Column(
            "semester_id",
            pa.int64(),
            "Semester in core: the v3 id; without one the v1 id, with a minus where "
            "that is another semester's in v3",
            label_zh="学期ID",
        ),
        Column(
            "v1_semester_id",
            pa.int64(),
            "The same semester in the v1 interface; null: v1 does not have it",
            label_zh="v1学期ID",
        ),
        Column(
            "matched_by",
            pa.string(),
            "What told that they are one: setting, outer_id, dates, overlap, name or "
            "id; null: only one of the interfaces has it",
            label_zh="匹配依据",
        ),
        Column(
            "week_1_on",
            pa.date32(),
            "Day on which teaching week 1 begins; null: its days are not known",
            label_zh="第1周首日",
        ),
        Column(
            "weeks_begin",
            pa.string(),
            "Rule that this follows from: monday, first_day, next_monday or sunday",
            label_zh="教学周起算规则",
        ),
        Column(
            "weeks_known_by",
            pa.string(),
            "What told the rule: setting (campus.yaml), current_week (of the platform) or default",
            label_zh="规则依据",
        ),
        Column(
            "day_1_is",
            pa.int64(),
            "Weekday (1 is Monday) that is day 1 of schedules, lesson_days and timetables, by their labels",
            label_zh="第1天为星期几",
        ),
    ),
)

#: Made with each published file, of the inbox of pushes.
PUSH_MISSES = Log(
    name="push_misses",
    comment="Of the rows that had changed by a day's loads, those that no push had announced; empty where no "
    "pushes are taken",
    label_zh="推送遗漏",
    columns=(
        *_OF,
        Column("day", pa.date32(), "Day of the loads, by the platform's calendar", label_zh="日期"),
        Column(
            "changed",
            pa.int64(),
            "Rows that changed since the load before, found by it or brought by pushes",
            label_zh="变更行数",
            unit="rows",
        ),
        Column("missed", pa.int64(), "Of these, rows that no push named", label_zh="遗漏行数", unit="rows"),
        Column("miss_rate", pa.float64(), "100 * missed / changed", label_zh="遗漏率", unit="percent"),
    ),
)

#: Made with each published file, of the standings.
FRESHNESS = Log(
    name="freshness",
    comment="How old each slice may be, one row a slice: a night reads some in part, and some not at all",
    label_zh="数据时效",
    columns=(
        *_WHERE,
        Column(
            "as_of",
            TIMESTAMP,
            "Start of the last load that missed nothing of what it asked for; null: none did",
            label_zh="数据截至",
        ),
        Column(
            "whole_as_of",
            TIMESTAMP,
            "Start of the last load that read all of the slice; null: none did",
            label_zh="全量读取截至",
        ),
        Column(
            "unseen",
            pa.string(),
            "What may be as old as whole_as_of; null: the last load read all of the slice",
            label_zh="可能未更新的内容",
        ),
    ),
)

WRITES = Log(
    name="writes",
    comment="What this warehouse wrote to the platform: one row a write, with what was answered; append-only",
    label_zh="写入记录",
    columns=(
        Column("write_id", pa.string(), "Id of the write; ours", label_zh="写入ID"),
        Column("_school_id", pa.int64(), "School that was written to", label_zh="学校ID"),
        Column(
            "operation", pa.string(), "create_user, change_user, mark_lesson and the like", label_zh="操作"
        ),
        Column(
            "target", pa.string(), "Id on the platform, and parameters of the request", label_zh="写入对象"
        ),
        Column("source", pa.string(), "Plan or file that said what to write", label_zh="来源"),
        Column("row", pa.string(), "Row of the source: its line, or its key", label_zh="来源行"),
        Column(
            "sent",
            pa.string(),
            "JSON of what was sent, with the names alone of passwords and national id numbers; null: nothing",
            label_zh="发送内容",
        ),
        Column(
            "asked_by",
            pa.string(),
            "User, host and process of a command; schedule or sensor of a run, or a person in the UI",
            label_zh="发起者",
        ),
        Column("asked_at", TIMESTAMP, "When it was sent first, China time", label_zh="发起时间"),
        Column(
            "outcome",
            pa.string(),
            "done; found (the answer was lost, and a look showed that it happened); refused; unsent "
            "(it did not happen); unconfirmed (nobody knows); interrupted (the process ended before the "
            "answer, and nobody knows)",
            label_zh="结果",
        ),
        Column(
            "status", pa.int64(), "HTTP status of the answer; 0 or null: there was none", label_zh="状态码"
        ),
        Column("answer", pa.string(), "JSON that was answered, or the platform's words", label_zh="平台答复"),
        Column("answered_at", TIMESTAMP, "When that was known, China time", label_zh="答复时间"),
    ),
    slice_columns=(MONTH,),
)

#: What no table of the lake holds as it is published.
MADE = (SEMESTER_CALENDARS, SLICES, PUSH_MISSES, FRESHNESS)

#: Every published table of the lake beside the platform's own.
LOGS = (LOAD_LOG, QUARANTINE, DIFFERENCES, DRIFT, RECONCILIATION, CHANGES, PAST_ROWS, WRITES)
