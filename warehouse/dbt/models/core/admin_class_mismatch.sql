-- Grain: school, administrative class, student, kind of mismatch.
-- Rules: kind is one of
--     several_classes         the lists that count name the student in two or more classes
--     only_in_v3, only_in_v1  both interfaces list students of the class, but only this interface lists this student
-- Source: core.bridge_admin_class_student.
with lists as (
    select
        *,
        bool_or(in_v3) over in_class and bool_or(in_v1) over in_class as both_list,
        count(*) filter (where is_member) over (partition by school_id, student_id) as classes
    from {{ ref('bridge_admin_class_student') }}
    window in_class as (partition by school_id, admin_class_id)
)

select
    school_id,
    admin_class_id,
    student_id,
    if(in_v3, 'only_in_v3', 'only_in_v1') as kind
from lists
where both_list and in_v3 <> in_v1

union all

select
    school_id,
    admin_class_id,
    student_id,
    'several_classes' as kind
from lists
where is_member and classes > 1
