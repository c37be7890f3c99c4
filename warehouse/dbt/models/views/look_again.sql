-- Grain: school, student with a day on which to look again, of the semesters that are shown.
-- Rules: the day of the latest talk or measure, of whichever semester, while none of a later day was written down.
with interventions as (
    {{ latest_interventions(['school_id', 'student_id']) }}
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
    interventions.latest.again_on as again_on,
    interventions.latest.date as spoke_on,
    interventions.latest.kind as spoke_kind,
    interventions.latest.done_by as spoke_by,
    interventions.latest.result as spoke_result,
    interventions.latest.note as spoke_note
from interventions
inner join {{ ref('student_standing') }} as standings
    on standings.school_id = interventions.school_id
    and standings.student_id = interventions.student_id
    and standings.is_shown
where interventions.latest.again_on is not null
