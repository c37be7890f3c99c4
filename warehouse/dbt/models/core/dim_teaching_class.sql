-- Grain: school, teaching class of the v1 interface: a course as one group takes it in one semester.
-- Rules: course_class_id is the same class's id in the v3 interface, paired by macros/linked.sql; matched_by says how. A
--   class that v3 lacks keeps its v1 id, negative if v3 uses that id for another class. unmatched_v1 lists it.
--   A class known only from attendance has no name. The semester is v1's, else that of the class's sessions, else the
--   v3 class's. Removed classes stay (is_deleted). Weekly times are in fct_timetable.
-- Source: raw.v1_classes, raw.attendance_sessions, raw.attendance_records, raw.classes.
with v1_classes as (
    select * from {{ ref('stg_v1_classes') }}
),

course_classes as (
    select * from {{ ref('stg_classes') }}
),

sessions as (
    select * from {{ ref('stg_attendance_sessions') }}
),

records as (
    select * from {{ ref('stg_attendance_records') }}
),

people as (
    select * from {{ ref('bridge_v1_person') }}
),

attended as (
    select school_id, v1_class_id, max(semester_id) as semester_id
    from (
        select school_id, v1_class_id, semester_id from sessions
        union all
        select distinct school_id, v1_class_id, null as semester_id from records
    )
    group by school_id, v1_class_id
),

classes as (
    select v1_classes.* replace (coalesce(v1_classes.semester_id, attended.semester_id) as semester_id)
    from v1_classes
    left join attended using (school_id, v1_class_id)
    union all by name
    select * from attended anti join v1_classes using (school_id, v1_class_id)
),

ours as (
    select
        school_id,
        semester_id as kind,
        v1_class_id as id,
        class_code as code,
        {{ class_in_words() }} as name,
        coalesce(is_deleted, false) as is_deleted
    from classes
),

theirs as (
    select
        school_id,
        semester_id as kind,
        course_class_id as id,
        class_code as code,
        {{ class_in_words() }} as name,
        is_deleted
    from course_classes
),

{{ linked('ours', 'theirs', 'csin') }},

teachers as (
    select
        teaching.school_id,
        teaching.v1_class_id,
        list(people.person_id order by teaching.place) as teacher_ids
    from (
        select
            school_id,
            v1_class_id,
            unnest(v1_teacher_ids) as v1_teacher_id,
            generate_subscripts(v1_teacher_ids, 1) as place
        from classes
    ) as teaching
    inner join people
        on people.school_id = teaching.school_id
        and people.v1_person_id = teaching.v1_teacher_id
    group by teaching.school_id, teaching.v1_class_id
)

select
    classes.school_id,
    classes.v1_class_id,
    coalesce(
        linked.other_id,
        case when taken.id is not null then -classes.v1_class_id else classes.v1_class_id end
    ) as course_class_id,
    linked.matched_by,
    coalesce(classes.semester_id, paired.kind) as semester_id,
    classes.class_code,
    classes.course_name,
    classes.class_name,
    classes.credit,
    classes.hours,
    classes.attribute_name,
    classes.subject_name,
    classes.grade_names,
    classes.first_week,
    classes.last_week,
    classes.week_type,
    classes.capacity,
    teachers.teacher_ids,
    nullif(array_to_string(classes.teacher_names, ', '), '') as teacher_names,
    classes.admin_class_ids,
    coalesce(classes.is_deleted, false) as is_deleted,
    classes.deleted_at
from classes
left join linked
    on linked.school_id = classes.school_id
    and linked.id = classes.v1_class_id
left join theirs as paired
    on paired.school_id = linked.school_id
    and paired.id = linked.other_id
left join theirs as taken
    on taken.school_id = classes.school_id
    and taken.id = classes.v1_class_id
left join teachers
    on teachers.school_id = classes.school_id
    and teachers.v1_class_id = classes.v1_class_id
