-- Grain: school, semester, student with attendance, grades or scores in the semester.
-- Rules: the level is made of the levels of the indicators (marts.early_warning_indicator):
--   at_risk: one indicator is at_risk. warning: two are at least a warning that are of different areas (attendance,
--     behaviour, grades), as those of one area tell the same thing twice; or one is whose rule suffices, as chronic
--     absence does. watch: something is beyond a limit, and no more than that. none: nothing is beyond a limit of what
--     is known, which is indicators_known; unknown: nothing is, or not all inputs were ever loaded of the semester
--     (inputs_loaded: attendance, memberships, scores, grades and students), so that watch and none cannot be told
--     apart from the rest. at_risk and warning stay: they are the level at least. How many reasons there are, and
--     whether one is provisional, is not known then.
--   Students at_risk or with a warning need a conversation; watch does not call for one.
--   Reasons name each indicator beyond a limit in the seed's words, the gravest first, and of alike ones in the order of
--   the columns. is_provisional: one of the reasons is made of pending grades. has_left: before the last day of the semester, or by now (core.semester_leaver).
--   attendance_tier: as in marts.attendance_student_semester where the attendance rate rests on enough to tell by;
--   unknown otherwise. A tier means a level (seeds.attendance_tiers), which the student's own is never better than.
-- Source: marts.early_warning_indicator, attendance_student_semester, grade_student_semester and score_student_semester.
with attendance as (
    select * from {{ ref('attendance_student_semester') }}
),

grades as (
    select * from {{ ref('grade_student_semester') }}
),

scores as (
    select * from {{ ref('score_student_semester') }}
),

indicators as (
    select
        *,
        place + case level when 'at_risk' then 0 when 'warning' then 10 else 20 end as gravest_first
    from {{ ref('early_warning_indicator') }}
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

grade_levels as (
    select * from {{ ref('cohort_grade_level') }}
),

student_classes as (
    select * from {{ ref('bridge_student_admin_class') }}
),

admin_classes as (
    select * from {{ ref('dim_admin_class') }}
),

everybody as (
    select
        school_id,
        semester_id,
        student_id,
        attendance.student_id is not null as has_attendance,
        grades.student_id is not null as has_grades,
        attendance.is_chronic,
        attendance.tier
    from attendance
    full join grades using (school_id, semester_id, student_id)
    full join scores using (school_id, semester_id, student_id)
),

levels as (
    select
        school_id,
        semester_id,
        student_id,
        {{ warning_level_sums() }},
        coalesce(bool_or(is_provisional) filter (where level <> 'none'), false) as is_provisional,
        bool_or(indicator = 'attendance_rate' and is_told) as is_tier_told,
        {%- for language, comma in [('en', '; '), ('zh', '；')] %}
        -- Sorting by one key takes half the time of sorting by two.
        string_agg(reason_{{ language }}, '{{ comma }}' order by gravest_first) as reasons_{{ language }},
        {%- endfor %}
        {%- for indicator in warning_indicators() %}
        max(value) filter (where indicator = '{{ indicator }}') as {{ indicator }}{{ ',' if not loop.last }}
        {%- endfor %}
    from indicators
    group by school_id, semester_id, student_id
)

select
    everybody.school_id,
    everybody.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    everybody.student_id,
    students.student_number,
    students.student_name,
    {{ has_left() }} as has_left,
    student_classes.admin_class_id,
    admin_classes.admin_class_name,
    student_classes.is_inferred as admin_class_is_inferred,
    students.cohort_id,
    students.cohort_name,
    grade_levels.grade_level,
    {{ warning_inputs_loaded() }} as inputs_loaded,
    {{ warning_level() }} as level,
    {{ in_words('level', 'level') }},
    case when inputs_loaded then coalesce(levels.reason_count, 0) end as reason_count,
    case when inputs_loaded then coalesce(levels.warning_areas, 0) end as warning_areas,
    levels.reasons_en,
    levels.reasons_zh,
    case when inputs_loaded or levels.is_provisional then coalesce(levels.is_provisional, false) end as is_provisional,
    coalesce(levels.indicators_known, 0) as indicators_known,
    {{ if_loaded(['attendance_records'], 'if(everybody.has_attendance, true, ' ~ if_loaded(['class_members', 'students'], 'false') ~ ')') }}
        as has_attendance,
    {{ if_loaded(['grades'], 'everybody.has_grades') }} as has_grades,
    case when levels.is_tier_told then everybody.tier else 'unknown' end as attendance_tier,
    {{ in_words('tier', 'attendance_tier', 'attendance_tier') }},
    everybody.is_chronic,
    {%- for indicator in warning_indicators() %}
    cast(levels.{{ indicator }} as {{ 'bigint' if indicator == 'failed_courses' else 'decimal(9, 2)' }}) as {{ indicator }}{{ ',' if not loop.last }}
    {%- endfor %}
from everybody
left join levels
    on levels.school_id = everybody.school_id
    and levels.semester_id = everybody.semester_id
    and levels.student_id = everybody.student_id
left join semesters
    on semesters.school_id = everybody.school_id
    and semesters.semester_id = everybody.semester_id
left join students
    on students.school_id = everybody.school_id
    and students.student_id = everybody.student_id
left join grade_levels
    on grade_levels.school_id = everybody.school_id
    and grade_levels.semester_id = everybody.semester_id
    and grade_levels.cohort_id = students.cohort_id
left join leavers
    on leavers.school_id = everybody.school_id
    and leavers.semester_id = everybody.semester_id
    and leavers.student_id = everybody.student_id
left join student_classes
    on student_classes.school_id = everybody.school_id
    and student_classes.semester_id = everybody.semester_id
    and student_classes.student_id = everybody.student_id
left join admin_classes
    on admin_classes.school_id = student_classes.school_id
    and admin_classes.admin_class_id = student_classes.admin_class_id
