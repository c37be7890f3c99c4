-- Grain: school, student with a day on which to look again, of the semesters that are shown.
-- Rules: the day of the latest talk or measure that has one, while no later one was written down.
with latest as (
    select
        school_id,
        student_id,
        max_by(
            struct_pack(date := date, kind := kind, done_by := done_by, result := result, note := note, again_on := again_on),
            (date, again_on is not null, kind)
        ) as talk
    from {{ ref('fct_intervention') }}
    group by all
)

select
    standings.school_id,
    standings.semester_id,
    standings.semester_name,
    standings.is_shown,
    standings.admin_class_id,
    standings.class_title,
    standings.student_id,
    standings.student_number,
    standings.student,
    standings.level,
    latest.talk.again_on as again_on,
    latest.talk.date as spoke_on,
    latest.talk.kind as spoke_kind,
    latest.talk.done_by as spoke_by,
    latest.talk.result as spoke_result,
    latest.talk.note as spoke_note
from latest
inner join {{ ref('student_standing') }} as standings
    on standings.school_id = latest.school_id
    and standings.student_id = latest.student_id
    and standings.is_shown
where latest.talk.again_on is not null
