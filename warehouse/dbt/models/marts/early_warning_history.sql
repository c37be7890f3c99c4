-- Grain: school, semester, student, week at whose end the published level was another than at the end of the week before.
-- Rules: what was published stays as it was published, whatever the thresholds, the data or the models say now
--   (quality.published_levels); the last row may be of this file, which is logged after its publication.
--   A publication belongs to the teaching week of its as_of, the last whole day of its data. Outside the teaching weeks
--   each day counts as a week of its own, and week is null. Of several publications in a week the last one counts. Data
--   older than those of the student's row before belong to the week of that row.
--   A student whose level is unknown keeps the last known one: it neither ends nor begins anything.
--   change: left; new: at_risk or warning, and no such level before in the semester; came back: the same after a week
--   without; worse, better: by the order none, watch, warning, at_risk; first: no earlier level to compare with. At_risk
--   or warning is first, and not new, where nothing was published of the semester in an earlier week, or not from the
--   same inputs. level is null where the student has left.
--   since: as_of of the first publication with the level. thresholds_changed: the limits in force differ from those of
--   the student's row before, so that the change may not be the student's. is_new_this_week: new or back in the week of
--   this file, by the same limits.
-- Source: quality.published_levels, core.early_warning_state, core.dim_semester.
with semesters as (
    select * from {{ ref('dim_semester') }}
),

students as (
    select * from {{ ref('dim_student') }}
),

warnings as (
    select * from {{ ref('early_warning') }}
),

states as (
    select * rename (_school_id as school_id)
    from {{ source('quality', 'published_levels') }}

    union all by name

    select *, cast(null as timestamp) as published_at
    from {{ ref('early_warning_state') }}
),

levels as (
    select
        *,
        max(as_of) over so_far as day,
        last_value(nullif(level, 'unknown') ignore nulls) over so_far as known_level
    from states
    window so_far as (partition by school_id, semester_id, student_id order by published_at nulls last)
),

weeks as (
    select
        levels.*,
        case
            when levels.day >= semesters.week_1_on and levels.day < semesters.week_1_on + 7 * semesters.week_count
                then cast((levels.day - semesters.week_1_on) // 7 + 1 as integer)
        end as week,
        case when week is not null then semesters.week_1_on + 7 * (week - 1) else levels.day end as week_begins_on,
        levels.known_level is distinct from lag(levels.known_level) over of_student as is_other_level
    from levels
    left join semesters
        on semesters.school_id = levels.school_id
        and semesters.semester_id = levels.semester_id
    window of_student as (
        partition by levels.school_id, levels.semester_id, levels.student_id order by levels.published_at nulls last
    )
),

week_ends as (
    select
        *,
        last_value(case when is_other_level then {'since': day, 'indicators': indicators} end ignore nulls)
            over of_student as first_with_level
    from weeks
    window of_student as (partition by school_id, semester_id, student_id order by published_at nulls last)
    qualify lead(week_begins_on) over of_student is distinct from week_begins_on
),

compared as (
    select
        *,
        known_level in ('warning', 'at_risk') as is_flagged,
        lag(known_level) over of_student as previous_level,
        coalesce(lag(thresholds) over of_student <> thresholds, false) as thresholds_changed,
        coalesce(bool_or(is_flagged) over before, false) as was_flagged,
        min(week_begins_on) over (partition by school_id, semester_id, missing_inputs) < week_begins_on
            as has_earlier_week,
        max(week_begins_on) over (partition by school_id, semester_id) = week_begins_on as is_this_week
    from week_ends
    window
        of_student as (partition by school_id, semester_id, student_id order by week_begins_on),
        before as (of_student rows between unbounded preceding and 1 preceding)
),

changes as (
    select
        *,
        case
            when known_level = 'left' then 'left'
            when is_flagged and coalesce(previous_level not in ('warning', 'at_risk'), true)
                then case
                    when was_flagged then 'came back'
                    when previous_level is not null or has_earlier_week then 'new'
                    else 'first'
                end
            when previous_level is null or previous_level = 'left' then 'first'
            when {{ level_rank('known_level') }} > {{ level_rank('previous_level') }} then 'worse'
            else 'better'
        end as change,
        lead(week_begins_on) over (partition by school_id, semester_id, student_id order by week_begins_on) is null
            as is_latest
    from compared
    where
        known_level is distinct from previous_level
        -- Students who had left before the first publication.
        and (previous_level is not null or known_level <> 'left')
)

select
    changes.school_id,
    changes.semester_id,
    {{ semester_names() }},
    changes.student_id,
    students.student_number,
    students.student_name,
    warnings.admin_class_id,
    warnings.admin_class_name,
    warnings.cohort_id,
    warnings.cohort_name,
    changes.week,
    changes.first_with_level.since as since,
    nullif(changes.known_level, 'left') as level,
    {{ in_words('level', 'nullif(changes.known_level, \'left\')') }},
    nullif(changes.previous_level, 'left') as previous_level,
    {{ in_words('level', 'nullif(changes.previous_level, \'left\')', 'previous_level') }},
    changes.change,
    {{ in_words('change', 'changes.change') }},
    changes.first_with_level.indicators as indicators,
    changes.thresholds_changed,
    changes.is_latest,
    changes.is_this_week and changes.change in ('new', 'came back') and not changes.thresholds_changed
        as is_new_this_week
from changes
left join semesters
    on semesters.school_id = changes.school_id
    and semesters.semester_id = changes.semester_id
left join students
    on students.school_id = changes.school_id
    and students.student_id = changes.student_id
left join warnings
    on warnings.school_id = changes.school_id
    and warnings.semester_id = changes.semester_id
    and warnings.student_id = changes.student_id
