-- Grain: school, semester, student with attendance, grades or scores in the semester.
-- Rules: seven indicators, each against the limits of seeds.early_warning_rules, as it is shown here: below or
--   at_least `at_risk`, else `warning`. The level is the worst of them; none: all is well; unknown: there is
--   nothing to tell by. An indicator that is null raises nothing. Reasons name each indicator beyond a limit,
--   those at risk first, in the seed's words.
--   attendance_drop: earlier less recent attendance rate (marts.attendance_student_semester), 0 where it rose.
--   score_drop: the z score of the weighted mean within the cohort (marts.grade_student_semester) in the
--     student's last semester with one, less that of now; 0 where it rose.
-- Source: marts.attendance_student_semester, grade_student_semester and score_student_semester.
{%- set names = [
    'attendance_rate', 'attendance_drop', 'lateness_rate', 'score_rate', 'score_drop', 'failed_courses',
    'missing_rate'
] %}
{%- set levels = names | join('_level, ') ~ '_level' %}
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

-- One row a school, one column an indicator: its rule.
rules as (
    select
        school_id,
        {%- for name in names %}
        any_value(rule) filter (where indicator = '{{ name }}') as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ ref('stg_early_warning_rules') }} as rule
    group by school_id
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

-- 2 at risk, 1 a warning, 0 neither; null: not known, or no rule for it.
judged as (
    select
        indicators.*,
        rules,
        {%- for name in names %}
        {{ is_beyond('indicators.' ~ name, 'rules.' ~ name, 'warning') }}
            + coalesce({{ is_beyond('indicators.' ~ name, 'rules.' ~ name, 'at_risk') }}, 0)
            as {{ name }}_level{{ ',' if not loop.last }}
        {%- endfor %}
    from indicators
    left join rules
        on rules.school_id = indicators.school_id
)

select
    judged.school_id,
    judged.semester_id,
    semesters.semester_name,
    judged.student_id,
    students.student_number,
    students.student_name,
    student_classes.admin_class_id,
    admin_classes.admin_class_name,
    students.cohort_id,
    students.cohort_name,
    case
        when 2 in ({{ levels }}) then 'at_risk'
        when 1 in ({{ levels }}) then 'warning'
        when coalesce(judged.{{ names | join(', judged.') }}) is not null then 'none'
        else 'unknown'
    end as level,
    len(list_filter([{{ levels }}], lambda level: level > 0)) as reason_count,
    {{ reasons(names, 'reason_en', '; ') }} as reasons_en,
    {{ reasons(names, 'reason_zh', '；') }} as reasons_zh,
    judged.has_attendance,
    judged.has_grades,
    judged.tier,
    {%- for name in names %}
    judged.{{ name }}{{ ',' if not loop.last }}
    {%- endfor %}
from judged
left join semesters
    on semesters.school_id = judged.school_id
    and semesters.semester_id = judged.semester_id
left join students
    on students.school_id = judged.school_id
    and students.student_id = judged.student_id
left join student_classes
    on student_classes.school_id = judged.school_id
    and student_classes.semester_id = judged.semester_id
    and student_classes.student_id = judged.student_id
left join admin_classes
    on admin_classes.school_id = student_classes.school_id
    and admin_classes.admin_class_id = student_classes.admin_class_id
