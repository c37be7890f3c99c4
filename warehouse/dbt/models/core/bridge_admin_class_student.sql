-- Grain: school, administrative class, student on any present list of the class.
-- Rules: is_member: the student is on the list that counts (dim_admin_class.listed_by). If v3 and v1 list different
--   students of a class, v3's list counts, and admin_class_mismatch shows the difference.
-- Source: raw.admin_classes, raw.v1_admin_classes, raw.students.
with admin_classes as (
    select * from {{ ref('dim_admin_class') }}
),

students as (
    select * from {{ ref('stg_students') }}
),

v3_listed as (
    select
        school_id,
        admin_class_id,
        unnest(student_ids) as student_id
    from {{ ref('stg_admin_classes') }}
    where not is_deleted
),

{{ v1_listed() }},

named as (
    select
        school_id,
        admin_class_id,
        student_id,
        bool_or(interface = 'v3') as in_v3,
        bool_or(interface = 'v1') as in_v1
    from (
        select *, 'v3' as interface from v3_listed
        union all
        select *, 'v1' as interface from v1_listed
    )
    group by school_id, admin_class_id, student_id
)

select
    named.school_id,
    named.admin_class_id,
    named.student_id,
    named.in_v3,
    named.in_v1,
    coalesce(if(admin_classes.listed_by = 'v3', named.in_v3, named.in_v1) and admin_classes.listed_by is not null, false)
        as is_member
from named
inner join admin_classes
    on admin_classes.school_id = named.school_id
    and admin_classes.admin_class_id = named.admin_class_id
semi join students
    on students.school_id = named.school_id
    and students.student_id = named.student_id
