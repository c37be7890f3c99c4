-- Grain: school, semester, teacher with lessons without a roll; a lesson without a known teacher has the teacher null.
-- Rules: a lesson of several teachers counts for each of them.
with due as (
    select
        school_id,
        semester_id,
        semester_name,
        teacher_id,
        staff_number,
        teacher_name,
        cast(sum(due_sessions) as bigint) as due_sessions,
        cast(sum(recorded_sessions) as bigint) as recorded_sessions,
        cast(sum(unrecorded_sessions) as bigint) as unrecorded_sessions,
        min(first_unrecorded_on) as first_unrecorded_on,
        max(last_unrecorded_on) as last_unrecorded_on
    from {{ ref('attendance_unrecorded') }}
    group by all
),

lessons as (
    select
        school_id,
        semester_id,
        concat_ws(' ', course_name, class_name) as class,
        unnest(case when len(teacher_ids) > 0 then teacher_ids else [null] end) as teacher_id
    from {{ ref('attendance_class_session') }}
    where state = 'unrecorded'
),

classes as (
    select
        school_id,
        semester_id,
        teacher_id,
        string_agg(distinct class, ', ' order by class) as unrecorded_classes
    from lessons
    group by all
)

select
    due.school_id,
    due.semester_id,
    due.semester_name,
    semesters.is_shown,
    due.teacher_id,
    due.staff_number,
    due.teacher_name,
    due.due_sessions,
    due.recorded_sessions,
    due.unrecorded_sessions,
    {{ rate('due.unrecorded_sessions', 'due.due_sessions') }} as unrecorded_rate,
    due.first_unrecorded_on,
    due.last_unrecorded_on,
    classes.unrecorded_classes
from due
inner join {{ ref('semester') }} as semesters using (school_id, semester_id)
left join classes
    on classes.school_id = due.school_id
    and classes.semester_id = due.semester_id
    and classes.teacher_id is not distinct from due.teacher_id
where due.unrecorded_sessions > 0
