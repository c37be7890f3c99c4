-- Grain: school, semester, student with attendance, grades or scores in the semester.
-- Rules: seven indicators, each against the limits of seeds.early_warning_rules, as it is shown here: below or
--   at_least `at_risk`, else `warning`. What rests on less than the rule's `minimum` (recorded lessons, scored
--   courses, expected scores) raises nothing yet. The level is the worst of them; none: nothing is beyond a limit
--   of what is known, which is indicators_known; unknown: nothing is. Reasons name each indicator beyond a limit
--   in the seed's words, those at risk first, and of either in the order of the columns. has_left: before the last
--   day of the semester, or by now (core.semester_leaver).
--   attendance_drop: earlier less recent attendance rate (marts.attendance_student_semester), 0 where it rose.
--   score_drop: the z score of the weighted mean within the cohort (marts.grade_student_semester) in the
--     student's last semester with one, less that of now; 0 where it rose.
-- Source: marts.attendance_student_semester, grade_student_semester and score_student_semester.
{#- Each with what it rests on, for the rule's minimum. -#}
{%- set rests_on = {
    'attendance_rate': 'recorded',
    'attendance_drop': 'least(recent_recorded, earlier_recorded)',
    'lateness_rate': 'present',
    'score_rate': 'scored_courses',
    'score_drop': 'scored_courses',
    'failed_courses': 'counted_courses',
    'missing_rate': 'expected_scores'
} %}
with attendance as (
    select * from {{ ref('attendance_student_semester') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

students as (
    select * from {{ ref('dim_student') }}
),

leavers as (
    select * from {{ ref('semester_leaver') }}
),

student_classes as (
    select * from {{ ref('bridge_student_admin_class') }}
),

admin_classes as (
    select * from {{ ref('dim_admin_class') }}
),

scores as (
    select * from {{ ref('score_student_semester') }}
),

rules as (
    select * from {{ ref('stg_early_warning_rules') }}
),

grades as (
    select
        grades.*,
        lag(grades.z_score_in_cohort ignore nulls) over (
            partition by grades.school_id, grades.student_id
            order by semesters.first_day, grades.semester_id
        ) as earlier_z_score_in_cohort
    from {{ ref('grade_student_semester') }} as grades
    left join semesters
        on semesters.school_id = grades.school_id
        and semesters.semester_id = grades.semester_id
),

indicators as (
    select
        school_id,
        semester_id,
        student_id,
        attendance.student_id is not null as has_attendance,
        grades.student_id is not null as has_grades,
        coalesce(attendance.tier, 'unrecorded') as attendance_tier,
        attendance.recorded,
        attendance.present,
        attendance.recent_recorded,
        attendance.earlier_recorded,
        grades.scored_courses,
        grades.counted_courses,
        scores.expected as expected_scores,
        attendance.attendance_rate,
        {{ decline('-attendance.attendance_rate_change') }} as attendance_drop,
        attendance.lateness_rate,
        {{ percent('grades.score_sum', 'grades.full_score_sum', places=2) }} as score_rate,
        {{ decline('(grades.earlier_z_score_in_cohort - grades.z_score_in_cohort)') }} as score_drop,
        grades.failed_courses,
        scores.missing_rate
    from attendance
    full join grades using (school_id, semester_id, student_id)
    full join scores using (school_id, semester_id, student_id)
),

-- One row a student and known indicator.
known as (
    select
        school_id,
        semester_id,
        student_id,
        unnest(
            [
                {%- for indicator, base in rests_on.items() %}
                {
                    'place': {{ loop.index }},
                    'indicator': '{{ indicator }}',
                    'value': cast({{ indicator }} as decimal(9, 2)),
                    'base': {{ base }}
                }{{ ',' if not loop.last }}
                {%- endfor %}
            ],
            recursive := true
        )
    from indicators
),

-- 2 at risk, 1 a warning, 0 neither.
judged as (
    select
        known.*,
        rules.reason_en,
        rules.reason_zh,
        case
            when rules.worse = 'below'
                then cast(known.value < rules.warning as integer)
                    + coalesce(cast(known.value < rules.at_risk as integer), 0)
            else cast(known.value >= rules.warning as integer)
                + coalesce(cast(known.value >= rules.at_risk as integer), 0)
        end as level,
        case when level = 2 then rules.at_risk else rules.warning end as beyond
    from known
    inner join rules
        on rules.school_id = known.school_id
        and rules.indicator = known.indicator
    where
        known.value is not null
        and known.base >= coalesce(rules.minimum, 0)
),

levels as (
    select
        school_id,
        semester_id,
        student_id,
        max(level) as level,
        count(level) as indicators_known
    from judged
    group by school_id, semester_id, student_id
),

-- Those at risk first: sorting by one key takes half the time of sorting by two.
reasons as (
    select
        school_id,
        semester_id,
        student_id,
        count(*) as reason_count,
        string_agg({{ reason('reason_en') }}, '; ' order by place - 10 * level) as reasons_en,
        string_agg({{ reason('reason_zh') }}, '；' order by place - 10 * level) as reasons_zh
    from judged
    where level > 0
    group by school_id, semester_id, student_id
)

select
    indicators.school_id,
    indicators.semester_id,
    semesters.semester_name,
    coalesce(semesters.is_over, false) as is_complete,
    indicators.student_id,
    students.student_number,
    students.student_name,
    leavers.student_id is not null as has_left,
    student_classes.admin_class_id,
    admin_classes.admin_class_name,
    student_classes.is_inferred as admin_class_is_inferred,
    students.cohort_id,
    students.cohort_name,
    case levels.level
        when 2 then 'at_risk'
        when 1 then 'warning'
        when 0 then 'none'
        else 'unknown'
    end as level,
    coalesce(reasons.reason_count, 0) as reason_count,
    reasons.reasons_en,
    reasons.reasons_zh,
    coalesce(levels.indicators_known, 0) as indicators_known,
    indicators.has_attendance,
    indicators.has_grades,
    indicators.attendance_tier,
    {%- for indicator in rests_on %}
    indicators.{{ indicator }}{{ ',' if not loop.last }}
    {%- endfor %}
from indicators
left join levels
    on levels.school_id = indicators.school_id
    and levels.semester_id = indicators.semester_id
    and levels.student_id = indicators.student_id
left join reasons
    on reasons.school_id = indicators.school_id
    and reasons.semester_id = indicators.semester_id
    and reasons.student_id = indicators.student_id
left join semesters
    on semesters.school_id = indicators.school_id
    and semesters.semester_id = indicators.semester_id
left join students
    on students.school_id = indicators.school_id
    and students.student_id = indicators.student_id
left join leavers
    on leavers.school_id = indicators.school_id
    and leavers.semester_id = indicators.semester_id
    and leavers.student_id = indicators.student_id
left join student_classes
    on student_classes.school_id = indicators.school_id
    and student_classes.semester_id = indicators.semester_id
    and student_classes.student_id = indicators.student_id
left join admin_classes
    on admin_classes.school_id = student_classes.school_id
    and admin_classes.admin_class_id = student_classes.admin_class_id
