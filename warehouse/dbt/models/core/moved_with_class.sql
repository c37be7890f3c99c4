-- Grain: school, grade or score, version of its slice in which it was deleted, or came back, with its course class or
--   the class's assessment. Such a move is one event of the class: nobody deleted a single grade.
-- Rules: a deletion went with the class if the class was deleted before the reading that saw the deletion had ended.
--     Else it went with the assessment, by the same rule.
--   If the class or the assessment has come back since, the change log decides. The deletion went with it if all of
--     these hold:
--       the version left no record of the assessment of the same kind
--       a later version brought some of the deleted records back
--       the class or the assessment changed at that time or later
--   A record came back with the class or assessment that it had gone with.
--   A record that disappears from a class that stays was deleted on its own, and is not here.
-- Source: quality.changes, quality.load_log, raw.grades, raw.scores, raw.classes, raw.assessments.
with log as (
    select * from {{ ref('stg_changes') }} where op in ('created', 'deleted', 'returned')
),

moves as (
    select * from log where op <> 'created'
),

readings as (
    select
        _school_id as school_id,
        resource,
        slice,
        slice_version,
        min(finished_at) as finished_at
    from {{ source('quality', 'load_log') }}
    group by _school_id, resource, slice, slice_version
),

classes as (
    select * from {{ ref('stg_classes') }}
),

assessments as (
    select
        assessments.school_id,
        assessments.assessment_id,
        assessments.course_class_id,
        case when assessments.is_deleted then least(assessments.deleted_at, assessments.synced_at) end as gone_since,
        case when classes.is_deleted then least(classes.deleted_at, classes.synced_at) end as class_gone_since,
        assessments.synced_at as changed_at,
        classes.synced_at as class_changed_at
    from {{ ref('stg_assessments') }} as assessments
    left join classes
        on classes.school_id = assessments.school_id
        and classes.course_class_id = assessments.course_class_id
),

raw_records as (
    select
        'grades' as resource,
        _school_id as school_id,
        id as record_id,
        case when source = 'class' then source_id end as assessment_id,
        _deleted_at is null as is_alive
    from {{ source('raw', 'grades') }}

    union all

    select
        'scores' as resource,
        _school_id as school_id,
        id as record_id,
        assessment_id,
        _deleted_at is null as is_alive
    from {{ source('raw', 'scores') }}
),

-- A record that moved to another semester has two rows: the live row counts.
records as (
    select
        school_id,
        resource,
        record_id,
        arg_max(assessment_id, is_alive) as assessment_id
    from raw_records
    semi join moves using (school_id, resource, record_id)
    group by school_id, resource, record_id
),

-- Each deletion, with the record's next return.
deletions as (
    select
        moves.*,
        assessments.assessment_id,
        assessments.course_class_id,
        assessments.changed_at,
        assessments.class_changed_at,
        case
            when assessments.class_gone_since <= coalesce(readings.finished_at, moves.seen_at) then 'class'
            when assessments.gone_since <= coalesce(readings.finished_at, moves.seen_at) then 'assessment'
        end as gone_with,
        returns.seen_at as returned_at,
        returns.slice_version as returned_with
    from moves
    inner join records
        on records.school_id = moves.school_id
        and records.resource = moves.resource
        and records.record_id = moves.record_id
    inner join assessments
        on assessments.school_id = records.school_id
        and assessments.assessment_id = records.assessment_id
    left join readings
        on readings.school_id = moves.school_id
        and readings.resource = moves.resource
        and readings.slice = moves.slice
        and readings.slice_version = moves.slice_version
    asof left join (select * from moves where op = 'returned') as returns
        on returns.school_id = moves.school_id
        and returns.resource = moves.resource
        and returns.slice = moves.slice
        and returns.record_id = moves.record_id
        and returns.slice_version > moves.slice_version
    where moves.op = 'deleted'
),

restored as (
    select
        school_id,
        resource,
        slice,
        slice_version,
        assessment_id,
        case
            when any_value(class_changed_at) >= min(returned_at) then 'class'
            when any_value(changed_at) >= min(returned_at) then 'assessment'
        end as gone_with
    from deletions
    group by school_id, resource, slice, slice_version, assessment_id
    having greatest(any_value(changed_at), any_value(class_changed_at)) >= min(returned_at)
),

-- The records that the assessment still had after that version, by their next entry in the log.
left_behind as (
    select restored.*
    from restored
    inner join raw_records
        on raw_records.school_id = restored.school_id
        and raw_records.resource = restored.resource
        and raw_records.assessment_id = restored.assessment_id
    asof left join log as next
        on next.school_id = restored.school_id
        and next.resource = restored.resource
        and next.slice = restored.slice
        and next.record_id = raw_records.record_id
        and next.slice_version > restored.slice_version
    where coalesce(next.op = 'deleted', raw_records.is_alive)
),

emptied as (
    select *
    from restored
    anti join left_behind using (school_id, resource, slice, slice_version, assessment_id)
),

went as (
    select
        deletions.*,
        coalesce(deletions.gone_with, emptied.gone_with) as moved_with
    from deletions
    left join emptied using (school_id, resource, slice, slice_version, assessment_id)
)

select
    school_id,
    resource,
    slice,
    slice_version,
    record_id,
    moved_with,
    course_class_id,
    assessment_id
from went
where moved_with is not null

union all

select
    school_id,
    resource,
    slice,
    returned_with as slice_version,
    record_id,
    moved_with,
    course_class_id,
    assessment_id
from went
where
    moved_with is not null
    and returned_with is not null
