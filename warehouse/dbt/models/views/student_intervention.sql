-- Grain: school, student, talk or measure: as intervention_outcome.
select
    outcomes.school_id,
    outcomes.semester_id,
    outcomes.semester_name,
    shown.semester_id is not null as is_shown,
    outcomes.student_id,
    outcomes.date,
    outcomes.kind,
    log.done_by,
    log.result,
    log.note,
    log.again_on,
    outcomes.level_before,
    outcomes.level_after,
    outcomes.attendance_rate_before,
    outcomes.attendance_rate_after
from {{ ref('intervention_outcome') }} as outcomes
left join {{ ref('fct_intervention') }} as log
    on log.school_id = outcomes.school_id
    and log.student_id = outcomes.student_id
    and log.date = outcomes.date
    and log.kind = outcomes.kind
left join {{ ref('shown_semester') }} as shown
    on shown.school_id = outcomes.school_id
    and shown.semester_id = outcomes.semester_id
