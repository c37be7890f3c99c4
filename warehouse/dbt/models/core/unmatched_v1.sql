-- Grain: school, kind, interface that lacks the row, id.
-- Rules: classes, students, staff, semesters and administrative classes that only one of the two interfaces has.
--     classes, students, staff   paired by macros/linked.sql
--     semesters                  paired by bridge_v1_semester
--     administrative classes     paired by id
--   A row that v1 lacks is listed only if it is alive and not archived, and v1 has any rows of its kind. For a class,
--   v1 must have classes of its semester.
-- Source: core.
with teaching_classes as (
    select * from {{ ref('dim_teaching_class') }}
),

course_classes as (
    select * from {{ ref('dim_course_class') }}
),

people as (
    select * from {{ ref('bridge_v1_person') }}
),

students as (
    select * from {{ ref('dim_student') }}
),

teachers as (
    select * from {{ ref('stg_teachers') }}
),

v1_semesters as (
    select * from {{ ref('stg_v1_semesters') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

v1_admin_classes as (
    select * from {{ ref('stg_v1_admin_classes') }}
),

admin_classes as (
    select * from {{ ref('dim_admin_class') }}
),

v1 as (
    select
        school_id,
        'class' as kind,
        v1_class_id as v1_id,
        if(matched_by is null, null, course_class_id) as v3_id,
        semester_id,
        class_code as code,
        concat_ws(' ', course_name, class_name) as name
    from teaching_classes
    union all
    select school_id, kind, v1_person_id, if(matched_by is null, null, person_id), null, user_number, person_name
    from people
    where kind in ('student', 'staff')
    union all
    select
        v1_semesters.school_id,
        'semester',
        v1_semesters.v1_semester_id,
        if(v1_semesters.matched_by is null, null, v1_semesters.semester_id),
        null,
        null,
        v1_semesters.semester_name
    from v1_semesters
    union all
    select
        v1_admin_classes.school_id,
        'admin_class',
        v1_admin_classes.v1_admin_class_id,
        admin_classes.admin_class_id,
        null,
        null,
        concat_ws(' ', v1_admin_classes.grade_name, v1_admin_classes.admin_class_name)
    from v1_admin_classes
    left join admin_classes
        on admin_classes.school_id = v1_admin_classes.school_id
        and admin_classes.admin_class_id = v1_admin_classes.v1_admin_class_id
),

v3 as (
    select
        school_id,
        'class' as kind,
        course_class_id as v3_id,
        semester_id,
        class_code as code,
        concat_ws(' ', course_name, class_name) as name
    from course_classes
    where not is_deleted
    union all
    select school_id, 'student', student_id, null, student_number, student_name from students where not is_deleted
    union all
    select school_id, 'staff', teacher_id, null, staff_number, teacher_name from teachers where not is_deleted
    union all
    select school_id, 'semester', semester_id, null, null, semester_name
    from semesters
    anti join (select school_id, semester_id from v1_semesters where matched_by is null) as of_v1_alone
        using (school_id, semester_id)
    where not is_deleted
    union all
    select school_id, 'admin_class', admin_class_id, null, null, concat_ws(' ', cohort_name, admin_class_name)
    from admin_classes
    where not is_deleted and not is_archived
),

asked as (
    select distinct school_id, kind, semester_id from v1
)

select
    school_id,
    kind,
    'v3' as missing_in,
    v1_id as id,
    code,
    name
from v1
where v3_id is null

union all

select
    v3.school_id,
    v3.kind,
    'v1' as missing_in,
    v3.v3_id as id,
    v3.code,
    v3.name
from v3
anti join v1
    on v1.school_id = v3.school_id
    and v1.kind = v3.kind
    and v1.v3_id = v3.v3_id
semi join asked
    on asked.school_id = v3.school_id
    and asked.kind = v3.kind
    and asked.semester_id is not distinct from v3.semester_id
