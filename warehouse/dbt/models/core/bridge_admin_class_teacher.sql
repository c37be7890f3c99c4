-- Grain: school, administrative class, teacher who looks after it now.
-- Rules: live classes only. v3 lists the head teacher and the deputies together; only v1 names the head. So role is head
--   for v1's head and deputy for every other teacher. If v1 names no head, role is null.
-- Source: raw.admin_classes, raw.v1_admin_classes, raw.teachers.
with admin_classes as (
    select * from {{ ref('stg_admin_classes') }} where not is_deleted
),

v1_admin_classes as (
    select * from {{ ref('stg_v1_admin_classes') }} where not is_deleted
),

people as (
    select * from {{ ref('bridge_v1_person') }}
),

teachers as (
    select * from {{ ref('dim_teacher') }}
),

named as (
    select
        school_id,
        admin_class_id,
        unnest(teacher_ids) as teacher_id,
        false as is_head
    from admin_classes

    union all

    select
        v1.school_id,
        v1.admin_class_id,
        people.person_id,
        v1.is_head
    from (
        select
            school_id,
            v1_admin_class_id as admin_class_id,
            unnest(v1_teacher_ids) as v1_person_id,
            false as is_head
        from v1_admin_classes
        union all
        select school_id, v1_admin_class_id, v1_director_id, true from v1_admin_classes
    ) as v1
    semi join admin_classes
        on admin_classes.school_id = v1.school_id
        and admin_classes.admin_class_id = v1.admin_class_id
    inner join people
        on people.school_id = v1.school_id
        and people.v1_person_id = v1.v1_person_id
),

class_teachers as (
    select
        school_id,
        admin_class_id,
        teacher_id,
        bool_or(is_head) as is_head
    from named
    where teacher_id is not null
    group by school_id, admin_class_id, teacher_id
)

select
    class_teachers.school_id,
    class_teachers.admin_class_id,
    class_teachers.teacher_id,
    teachers.staff_number,
    teachers.teacher_name,
    case
        when class_teachers.is_head then 'head'
        when bool_or(class_teachers.is_head) over in_class then 'deputy'
    end as role
from class_teachers
left join teachers
    on teachers.school_id = class_teachers.school_id
    and teachers.teacher_id = class_teachers.teacher_id
window in_class as (partition by class_teachers.school_id, class_teachers.admin_class_id)
