-- Grain: school, semester, student: as student_standing.
-- Rules: a drop is a negative change, so that a sign has the same direction everywhere; a rise is no change. Reasons in
--   short leave out the limits in brackets.
select
    standings.school_id,
    standings.semester_id,
    standings.semester_name,
    standings.is_shown,
    coalesce(heads.class_grade, 'grade ' || standings.grade_level, standings.cohort_name, '') as grade,
    coalesce(heads.class_name, cast(standings.admin_class_id as varchar), '') as class_name,
    coalesce(heads.class_teacher, '') as class_teacher,
    {{ class_order('standings') }} as class_order,
    standings.class_cohort,
    standings.cohort_name,
    standings.admin_class_id,
    standings.admin_class_name,
    standings.student_id,
    standings.student_number,
    standings.student_name,
    standings.level,
    standings.is_provisional,
    standings.new_this_week,
    standings.new_this_week is not null as is_new_this_week,
    standings.since_en,
    standings.since_zh,
    standings.last_intervention_on,
    concat_ws('; ', standings.reasons_en, standings.patterns_en) as reasons_and_patterns_en,
    concat_ws('；', standings.reasons_zh, standings.patterns_zh) as reasons_and_patterns_zh,
    regexp_replace(standings.reasons_en, ' ?[(（][^)）]*[)）]', '', 'g') as short_reasons_en,
    regexp_replace(standings.reasons_zh, ' ?[(（][^)）]*[)）]', '', 'g') as short_reasons_zh,
    standings.absences_left,
    standings.attendance_rate,
    -nullif(standings.attendance_drop, 0) as attendance_change,
    standings.lateness_rate,
    standings.score_rate,
    -nullif(standings.score_drop, 0) as score_change,
    standings.failed_courses,
    standings.missing_rate,
    100 * standings.failed_chance as failed_chance,
    100 * standings.chronic_chance as chronic_chance,
    standings.attention_order
from {{ ref('student_standing') }} as standings
left join {{ ref('class_head') }} as heads
    on heads.school_id = standings.school_id
    and heads.semester_id = standings.semester_id
    and heads.admin_class_id = standings.admin_class_id
