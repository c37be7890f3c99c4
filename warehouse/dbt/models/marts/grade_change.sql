-- Grain: school, grade or score, sync, field that changed (null: the record was deleted or came back). What went
--   or came back with its course class, or its assessment, is one row of that and sync.
-- Rules: the change log's fields of seeds.grade_change_fields; a grade or score that is new is no change.
--   kind: given (null before), withdrawn (null after), changed, deleted, returned; of a class or assessment
--   (core.moved_with_class) class_deleted, class_returned, assessment_deleted, assessment_returned, with the
--   number of records. difference = after - before, where both are numbers. Seen by a sync, so changes between
--   two syncs are one. is_after_publication: the record, or one of the class's, was published before this
--   change, as known then.
-- Source: quality.changes, core.moved_with_class, raw.grades, raw.scores and dimensions.
with log as (
    select * from {{ ref('stg_changes') }} where record_id is not null
),

changes as (
    select log.*
    from log
    left join {{ ref('grade_change_fields') }} as fields
        on fields.resource = log.resource
        and fields.field = log.field
    where
        log.op in ('deleted', 'returned')
        or (log.op = 'updated' and fields.field is not null)
),

publications as (
    select * from log where field = 'published_at'
),

raw_records as (
    select
        'grades' as resource, _school_id as school_id, id as record_id, owner_id as student_id,
        null as evaluator_id, case when source = 'class' then source_id end as assessment_id,
        null as assessment_item_id, published_at, _deleted_at, _synced_at
    from {{ source('raw', 'grades') }}

    union all

    select
        'scores' as resource, _school_id as school_id, id as record_id, owner_id as student_id,
        evaluator_id, assessment_id, item_id as assessment_item_id, published_at, _deleted_at, _synced_at
    from {{ source('raw', 'scores') }}
),

-- What moved to another semester has two rows: the live one, else the one synced last.
records as (
    select
        resource,
        school_id,
        record_id,
        arg_max(raw_records, (_deleted_at is null, _synced_at)) as record
    from raw_records
    semi join changes using (resource, school_id, record_id)
    group by resource, school_id, record_id
),

dated as (
    select
        changes.*,
        records.record,
        -- The next change of published_at says what it was until then; without one it is what it is now.
        case
            when publications.record_id is not null then cast(publications.before as timestamp)
            else records.record.published_at
        end as published_at_before
    from changes
    asof left join publications
        on publications.resource = changes.resource
        and publications.school_id = changes.school_id
        and publications.slice = changes.slice
        and publications.record_id = changes.record_id
        and changes.slice_version <= publications.slice_version
    left join records
        on records.resource = changes.resource
        and records.school_id = changes.school_id
        and records.record_id = changes.record_id
),

moved as (
    select * from {{ ref('moved_with_class') }}
),

told as (
    select
        dated.school_id,
        dated.semester_id,
        if(dated.resource = 'grades', 'grade', 'score') as record_type,
        dated.record_id,
        dated.slice_version,
        dated.record.student_id as student_id,
        dated.record.assessment_id as assessment_id,
        dated.record.assessment_item_id as assessment_item_id,
        dated.record.evaluator_id as evaluator_id,
        case
            when dated.op <> 'updated' then dated.op
            when dated.before is null then 'given'
            when dated.after is null then 'withdrawn'
            else 'changed'
        end as kind,
        1 as records,
        dated.field,
        dated.before,
        dated.after,
        dated.seen_at,
        dated.published_at_before
    from dated
    left join moved
        on moved.school_id = dated.school_id
        and moved.resource = dated.resource
        and moved.slice = dated.slice
        and moved.slice_version = dated.slice_version
        and moved.record_id = dated.record_id
    where
        moved.record_id is null
        or dated.op = 'updated'

    union all by name

    select
        dated.school_id,
        dated.semester_id,
        moved.moved_with as record_type,
        if(moved.moved_with = 'class', moved.course_class_id, moved.assessment_id) as record_id,
        any_value(moved.assessment_id) as assessment_id,
        moved.moved_with || '_' || dated.op as kind,
        count(*) as records,
        dated.seen_at,
        min(dated.published_at_before) as published_at_before
    from dated
    inner join moved
        on moved.school_id = dated.school_id
        and moved.resource = dated.resource
        and moved.slice = dated.slice
        and moved.slice_version = dated.slice_version
        and moved.record_id = dated.record_id
    where dated.op <> 'updated'
    group by all
)

select
    told.school_id,
    told.semester_id,
    {{ semester_names() }},
    told.record_type,
    told.record_id,
    told.slice_version,
    told.student_id,
    students.student_number,
    students.student_name,
    assessments.course_class_id,
    classes.course_name,
    classes.class_name,
    told.assessment_item_id,
    items.item_name,
    told.evaluator_id,
    evaluators.teacher_name as evaluator_name,
    told.kind,
    told.records,
    told.field,
    told.before,
    told.after,
    {{ measure('told.after') }} - {{ measure('told.before') }} as difference,
    told.seen_at,
    coalesce(told.published_at_before <= told.seen_at, false) as is_after_publication,
    told.published_at_before
from told
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = told.school_id
    and semesters.semester_id = told.semester_id
left join {{ ref('dim_student') }} as students
    on students.school_id = told.school_id
    and students.student_id = told.student_id
left join {{ ref('dim_assessment') }} as assessments
    on assessments.school_id = told.school_id
    and assessments.assessment_id = told.assessment_id
left join {{ ref('dim_course_class') }} as classes
    on classes.school_id = assessments.school_id
    and classes.course_class_id = assessments.course_class_id
left join {{ ref('dim_assessment_item') }} as items
    on items.school_id = told.school_id
    and items.assessment_item_id = told.assessment_item_id
left join {{ ref('dim_teacher') }} as evaluators
    on evaluators.school_id = told.school_id
    and evaluators.teacher_id = told.evaluator_id
