-- Grain: school, semester, teaching week, group (week null: a semester without days). A group is the school, a
--   structure with all structures below it, a cohort or an administrative class.
-- Rules: rates come from sums.
--   average_daily_attendance = student days attended / days in session: a headcount, no rate.
--   A day is in session for a group if at least session_day_percent (seeds.attendance_thresholds) of its usual number of
--     students were recorded. The usual number is the median over the group's days in the semester. Other days with
--     records are partial days. They are in no headcount, but their records are in the rates.
--   A student day is attended if the day has records that count and is not absent (marts.attendance_student_day).
--   A student belongs to the present structures of the student, else to those of the administrative class. A student in
--     several groups of a kind counts in each.
--   Figures of administrative classes are null if administrative classes were never loaded. Figures of structures are
--     null if a student has no structure, and the tables that show the student's administrative class were never
--     loaded.
-- Source: marts.attendance_student_day, marts.attendance_student_semester and dimensions.
with days as (
    select * from {{ ref('attendance_student_day') }} where recorded > 0
),

student_semesters as (
    select * from {{ ref('attendance_student_semester') }}
),

students as (
    select * from {{ ref('dim_student') }}
),

admin_classes as (
    select * from {{ ref('dim_admin_class') }}
),

structures as (
    select * from {{ ref('dim_structure') }}
),

schools as (
    select * from {{ ref('dim_school') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

terms as (
    select * from {{ ref('dim_term') }}
),

grade_levels as (
    select * from {{ ref('cohort_grade_level') }}
),

thresholds as (
    select school_id, value as session_day_percent
    from {{ ref('stg_attendance_thresholds') }}
    where threshold = 'session_day_percent'
),

placed as (
    select
        student_semesters.school_id,
        student_semesters.semester_id,
        student_semesters.student_id,
        student_semesters.cohort_id,
        student_semesters.admin_class_id,
        student_semesters.admin_class_is_inferred as is_inferred,
        coalesce(nullif(students.structure_ids, []), admin_classes.structure_ids) as structure_ids
    from student_semesters
    left join students
        on students.school_id = student_semesters.school_id
        and students.student_id = student_semesters.student_id
    left join admin_classes
        on admin_classes.school_id = student_semesters.school_id
        and admin_classes.admin_class_id = student_semesters.admin_class_id
),

-- Kinds of groups that may lack students, since the tables that show students' groups were never loaded.
lacking as (
    select
        placed.school_id,
        placed.semester_id,
        unnest(['structure', 'admin_class']) as group_type,
        unnest([
            bool_or(coalesce(placed.structure_ids, []) = [])
                and any_value(list_has_any(semesters.never_loaded, ['admin_classes', 'class_members', 'classes', 'students'])),
            any_value(list_contains(semesters.never_loaded, 'admin_classes'))
        ]) as is_lacking
    from placed
    inner join semesters using (school_id, semester_id)
    group by placed.school_id, placed.semester_id
),

-- Students who are in the same groups form a set, and are counted together first. The smallest student id names the set.
sets as (
    select
        *,
        min(student_id) over (
            partition by school_id, semester_id, cohort_id, admin_class_id, is_inferred, structure_ids
        ) as set_id
    from placed
),

set_days as (
    select
        school_id,
        semester_id,
        sets.set_id,
        days.date,
        any_value(days.week) as week,
        count(*) as student_days,
        count(*) filter (where not days.is_absent_day) as student_days_attended,
        {{ attendance_sums() }}
    from days
    inner join sets using (school_id, semester_id, student_id)
    group by school_id, semester_id, sets.set_id, days.date
),

set_structures as (
    select
        school_id,
        semester_id,
        set_id,
        unnest(structure_ids) as structure_id
    from sets
    where student_id = set_id
),

set_groups as (
    select school_id, semester_id, set_id, 'school' as group_type, school_id as group_id, null as is_inferred
    from sets
    where student_id = set_id
    union all
    select school_id, semester_id, set_id, 'cohort', cohort_id, null
    from sets
    where student_id = set_id and cohort_id is not null
    union all
    select school_id, semester_id, set_id, 'admin_class', admin_class_id, is_inferred
    from sets
    where student_id = set_id and admin_class_id is not null
    union all
    -- Distinct, since a student may be in two structures of a branch.
    select distinct school_id, set_structures.semester_id, set_structures.set_id, 'structure', unnest(structures.path_ids), null
    from set_structures
    inner join structures using (school_id, structure_id)
),

names as (
    select school_id, 'school' as group_type, school_id as group_id, school_name as group_name from schools
    union all
    select school_id, 'structure', structure_id, path_names from structures
    union all
    select school_id, 'cohort', term_id, term_caption from terms
    union all
    select school_id, 'admin_class', admin_class_id, concat_ws(' ', cohort_name, admin_class_name) from admin_classes
),

group_days as (
    select
        school_id,
        semester_id,
        set_groups.group_type,
        set_groups.group_id,
        set_days.date,
        any_value(set_days.week) as week,
        bool_or(set_groups.is_inferred) as admin_class_is_inferred,
        sum(set_days.student_days) as student_days,
        sum(set_days.student_days_attended) as student_days_attended,
        {{ attendance_sums() }}
    from set_days
    inner join set_groups using (school_id, semester_id, set_id)
    group by school_id, semester_id, set_groups.group_type, set_groups.group_id, set_days.date
),

usual_days as (
    select
        school_id,
        semester_id,
        group_type,
        group_id,
        quantile_cont(student_days, 0.5) as students
    from group_days
    group by school_id, semester_id, group_type, group_id
),

judged_days as (
    select
        group_days.*,
        100 * group_days.student_days >= thresholds.session_day_percent * usual_days.students as is_in_session
    from group_days
    inner join usual_days using (school_id, semester_id, group_type, group_id)
    inner join thresholds using (school_id)
),

weeks as (
    select
        school_id,
        semester_id,
        group_type,
        group_id,
        week,
        bool_or(admin_class_is_inferred) as admin_class_is_inferred,
        count(*) filter (where is_in_session) as days_in_session,
        count(*) filter (where not is_in_session) as partial_days,
        coalesce(cast(sum(student_days) filter (where is_in_session) as bigint), 0) as student_days,
        coalesce(cast(sum(student_days_attended) filter (where is_in_session) as bigint), 0)
            as student_days_attended,
        {{ attendance_sums() }}
    from judged_days
    group by school_id, semester_id, group_type, group_id, week
),

known as (
    select
        weeks.* replace (
            {%- for figure in ['days_in_session', 'partial_days', 'student_days', 'student_days_attended'] + attendance_measures() %}
            case when lacking.is_lacking is not true then weeks.{{ figure }} end as {{ figure }}{{ ',' if not loop.last }}
            {%- endfor %}
        )
    from weeks
    left join lacking
        on lacking.school_id = weeks.school_id
        and lacking.semester_id = weeks.semester_id
        and lacking.group_type = weeks.group_type
)

select
    known.school_id,
    known.semester_id,
    {{ semester_names() }},
    known.week,
    {{ is_complete(last_day_of('known.week', 'semesters'), 'semesters') }} as is_complete,
    known.group_type,
    known.group_id,
    names.group_name,
    grade_levels.grade_level,
    known.admin_class_is_inferred,
    'all' as population,
    known.days_in_session,
    known.partial_days,
    known.student_days,
    known.student_days_attended,
    {{ ratio('known.student_days_attended', 'known.days_in_session', places=2, digits=18) }} as average_daily_attendance,
    {{ attendance_columns('known') }},
    {{ rate('known.present', 'known.recorded') }} as attendance_rate,
    {{ rate('known.late', 'known.present') }} as lateness_rate
from known
left join names
    on names.school_id = known.school_id
    and names.group_type = known.group_type
    and names.group_id = known.group_id
left join semesters
    on semesters.school_id = known.school_id
    and semesters.semester_id = known.semester_id
left join grade_levels
    on grade_levels.school_id = known.school_id
    and grade_levels.semester_id = known.semester_id
    and grade_levels.cohort_id = known.group_id
    and known.group_type = 'cohort'
