-- Grain: school, semester, student, change of the level: as early_warning_history.
-- Rules: since is null where the first publication was after the end of the semester, which does not tell since when.
--   published_on is the day of the publication.
select
    history.school_id,
    history.semester_id,
    history.semester_name,
    shown.semester_id is not null as is_shown,
    history.student_id,
    history.week,
    case
        when history.change <> 'first' or coalesce(history.since <= semesters.last_day, true) then history.since
    end as since,
    history.since as published_on,
    history.previous_level,
    history.level,
    history.change_en,
    history.change_zh,
    history.thresholds_changed
from {{ ref('early_warning_history') }} as history
inner join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = history.school_id
    and semesters.semester_id = history.semester_id
left join {{ ref('shown_semester') }} as shown
    on shown.school_id = history.school_id
    and shown.semester_id = history.semester_id
