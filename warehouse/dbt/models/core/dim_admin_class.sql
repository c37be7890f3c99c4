-- Grain: school, administrative class (the traditional class, which has no semester).
-- Rules: cohort is the class's year of graduation, named by its term. A class without a year has that of most students on
--     v3's list of the class, or without one on v1's; of two years with as many students, the smaller id.
--   Removed classes stay (is_deleted). Archived classes stay too, since archiving is no deletion.
--   listed_by: the interface whose list of students counts, v3 if it has a list, else v1. An empty list counts only if
--     the platform counts no students in the class and other classes of the school have lists. A removed or archived
--     class has no list that counts.
--   The head teacher and the deputies come from bridge_admin_class_teacher.
-- Source: raw.admin_classes, raw.v1_admin_classes, raw.students, raw.terms, raw.teachers, core.bridge_v1_person.
with v1_admin_classes as (
    select * from {{ ref('stg_v1_admin_classes') }} where not is_deleted
),

v3_lists as (
    select * from {{ ref('stg_admin_classes') }} where len(student_ids) > 0
),

{{ v1_listed() }},

listed as (
    select school_id, admin_class_id, unnest(student_ids) as student_id
    from v3_lists
    union all
    select v1_listed.school_id, v1_listed.admin_class_id, v1_listed.student_id
    from v1_listed
    anti join v3_lists
        on v3_lists.school_id = v1_listed.school_id
        and v3_lists.admin_class_id = v1_listed.admin_class_id
),

students_years as (
    select
        listed.school_id,
        listed.admin_class_id,
        students.graduates_in_id
    from listed
    inner join {{ ref('stg_students') }} as students
        on students.school_id = listed.school_id
        and students.student_id = listed.student_id
    where students.graduates_in_id is not null
    group by listed.school_id, listed.admin_class_id, students.graduates_in_id
    qualify
        row_number() over (
            partition by listed.school_id, listed.admin_class_id order by count(*) desc, students.graduates_in_id
        ) = 1
),

admin_classes as (
    select
        classes.*,
        coalesce(classes.graduates_in_id, students_years.graduates_in_id) as cohort_id,
        {{ is_archived('classes.status') }} as is_archived
    from {{ ref('stg_admin_classes') }} as classes
    left join students_years
        on students_years.school_id = classes.school_id
        and students_years.admin_class_id = classes.admin_class_id
),

terms as (
    select * from {{ ref('dim_term') }}
),

staff as (
    select
        school_id,
        admin_class_id,
        min(teacher_id) filter (where role = 'head') as head_teacher_id,
        min(teacher_name) filter (where role = 'head') as head_teacher_name,
        string_agg(teacher_name, ', ' order by teacher_id) filter (where role = 'deputy') as deputy_names
    from {{ ref('bridge_admin_class_teacher') }}
    group by school_id, admin_class_id
)

select
    admin_classes.school_id,
    admin_classes.admin_class_id,
    admin_classes.admin_class_name,
    admin_classes.cohort_id,
    cohort.term_caption as cohort_name,
    admin_classes.structure_ids,
    admin_classes.place_id,
    admin_classes.teacher_ids,
    staff.head_teacher_id,
    staff.head_teacher_name,
    staff.deputy_names,
    admin_classes.student_count,
    case
        when admin_classes.is_deleted or admin_classes.is_archived then null
        when {{ is_list('len(admin_classes.student_ids)') }} then 'v3'
        when {{ is_list('len(v1_admin_classes.v1_student_ids)') }} then 'v1'
    end as listed_by,
    admin_classes.outer_id,
    admin_classes.status,
    admin_classes.is_archived,
    admin_classes.is_deleted,
    admin_classes.deleted_at
from admin_classes
left join v1_admin_classes
    on v1_admin_classes.school_id = admin_classes.school_id
    and v1_admin_classes.v1_admin_class_id = admin_classes.admin_class_id
left join terms as cohort
    on cohort.school_id = admin_classes.school_id
    and cohort.term_id = admin_classes.cohort_id
left join staff
    on staff.school_id = admin_classes.school_id
    and staff.admin_class_id = admin_classes.admin_class_id
