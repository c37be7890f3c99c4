-- Grain: school, semester, student with attendance, grades or scores in the semester.
-- Rules: seven indicators, each against the limits of seeds.early_warning_rules, as it is shown here: below or
--   at_least `at_risk`, else `warning`. The level is the worst of them; none: all is well; unknown: there is
--   nothing to tell by. An indicator that is null raises nothing. Reasons name each indicator beyond a limit,
--   the worst first, in the seed's words.
--   attendance_drop: earlier less recent attendance rate (marts.attendance_student_semester), 0 where it rose.
--   score_drop: the z score of the weighted mean within the cohort (marts.grade_student_semester) in the
--     student's last semester with one, less that of now; 0 where it rose.
-- Source: marts.attendance_student_semester, grade_student_semester and score_student_semester.
with attendance as (
    select * from {{ ref('attendance_student_semester') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

students as (
    select * from {{ ref('dim_student') }}
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
        coalesce(attendance.tier, 'unrecorded') as tier,
        attendance.attendance_rate,
        {{ decline('-attendance.attendance_rate_change') }} as attendance_drop,
        attendance.lateness_rate,
        cast(grades.score_rate as decimal(9, 2)) as score_rate,
        {{ decline('(grades.earlier_z_score_in_cohort - grades.z_score_in_cohort)') }} as score_drop,
        grades.failed_courses,
        scores.missing_rate
    from attendance
    full join grades using (school_id, semester_id, student_id)
    full join scores using (school_id, semester_id, student_id)
),

{%- set names = [
    'attendance_rate', 'attendance_drop', 'lateness_rate', 'score_rate', 'score_drop', 'failed_courses',
    'missing_rate'
] %}

-- One row an indicator.
known as (
    select
        school_id,
        semester_id,
        student_id,
        unnest(['{{ names | join("', '") }}']) as indicator,
        unnest([{{ names | join(', ') }}]) as value
    from indicators
),

reasons as (
    select
        known.school_id,
        known.semester_id,
        known.student_id,
        known.indicator,
        known.value,
        case rules.worse when 'below' then known.value < rules.at_risk else known.value >= rules.at_risk end
            as is_at_risk,
        if(is_at_risk, rules.at_risk, rules.warning) as beyond,
        rules.reason_en,
        rules.reason_zh
    from known
    inner join rules
        on rules.school_id = known.school_id
        and rules.indicator = known.indicator
        and case rules.worse when 'below' then known.value < rules.warning else known.value >= rules.warning end
),

levels as (
    select
        school_id,
        semester_id,
        student_id,
        if(bool_or(is_at_risk), 'at_risk', 'warning') as level,
        count(*) as reason_count,
        string_agg({{ reason('reason_en') }}, '; ' order by is_at_risk desc, indicator) as reasons_en,
        string_agg({{ reason('reason_zh') }}, '；' order by is_at_risk desc, indicator) as reasons_zh
    from reasons
    group by school_id, semester_id, student_id
)

select
    indicators.school_id,
    indicators.semester_id,
    semesters.semester_name,
    indicators.student_id,
    students.student_number,
    students.student_name,
    student_classes.admin_class_id,
    admin_classes.admin_class_name,
    students.cohort_id,
    students.cohort_name,
    case
        when levels.level is not null then levels.level
        when coalesce(indicators.{{ names | join(', indicators.') }}) is not null then 'none'
        else 'unknown'
    end as level,
    coalesce(levels.reason_count, 0) as reason_count,
    levels.reasons_en,
    levels.reasons_zh,
    indicators.has_attendance,
    indicators.has_grades,
    indicators.tier,
    {%- for name in names %}
    indicators.{{ name }}{{ ',' if not loop.last }}
    {%- endfor %}
from indicators
left join levels
    on levels.school_id = indicators.school_id
    and levels.semester_id = indicators.semester_id
    and levels.student_id = indicators.student_id
left join semesters
    on semesters.school_id = indicators.school_id
    and semesters.semester_id = indicators.semester_id
left join students
    on students.school_id = indicators.school_id
    and students.student_id = indicators.student_id
left join student_classes
    on student_classes.school_id = indicators.school_id
    and student_classes.semester_id = indicators.semester_id
    and student_classes.student_id = indicators.student_id
left join admin_classes
    on admin_classes.school_id = student_classes.school_id
    and admin_classes.admin_class_id = student_classes.admin_class_id
