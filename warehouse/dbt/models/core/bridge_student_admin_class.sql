-- Grain: school, semester, student.
-- Rules: lists of an administrative class's students hold for the present only.
--   In the current semester, a list that names the student decides (bridge_admin_class_student.is_member). If several
--     classes list the student, the class of most of the student's course classes is taken.
--   The class is inferred (is_inferred) in other semesters, and in the current semester for a student on no list. In the
--     current semester only classes without a list are inferred, so an inferred class never contradicts a list.
--   The inferred class is the class of most of the student's course classes. Only course classes of a single
--     administrative class count.
--   Current memberships count first. Ended memberships decide only a tie, and then the smallest id does.
--   A student without any such class has no row. In the current semester, that may be a student who has left.
-- Source: raw.class_members, raw.classes, raw.v1_classes, raw.students, raw.admin_classes, raw.v1_admin_classes.
with members as (
    select * from {{ ref('bridge_class_member') }}
),

classes as (
    select * from {{ ref('dim_course_class') }}
),

students as (
    select * from {{ ref('stg_students') }}
),

semesters as (
    select * from {{ ref('dim_semester') }} where is_current and not is_deleted
),

admin_classes as (
    select * from {{ ref('dim_admin_class') }}
),

lists as (
    select * from {{ ref('bridge_admin_class_student') }} where is_member
),

-- v1 names the administrative classes of a course class if v3 does not.
v1_classes as (
    select school_id, course_class_id, admin_class_ids
    from {{ ref('dim_teaching_class') }}
    where matched_by is not null
),

single_classes as (
    select
        classes.school_id,
        classes.course_class_id,
        classes.semester_id,
        coalesce(nullif(classes.admin_class_ids, []), v1_classes.admin_class_ids) as admin_class_ids
    from classes
    left join v1_classes
        on v1_classes.school_id = classes.school_id
        and v1_classes.course_class_id = classes.course_class_id
    where
        len(coalesce(nullif(classes.admin_class_ids, []), v1_classes.admin_class_ids)) = 1
        and classes.semester_id is not null
),

votes as (
    select
        members.school_id,
        single_classes.semester_id,
        members.member_id as student_id,
        single_classes.admin_class_ids[1] as admin_class_id,
        count(distinct members.course_class_id) filter (where members.is_current) as current_class_count,
        count(distinct members.course_class_id) as class_count
    from members
    inner join single_classes
        on single_classes.school_id = members.school_id
        and single_classes.course_class_id = members.course_class_id
    -- The interface does not specify the values of member_type, so raw.students decides who is a student.
    semi join students
        on students.school_id = members.school_id
        and students.student_id = members.member_id
    group by all
),

listed as (
    select
        lists.school_id,
        semesters.semester_id,
        lists.student_id,
        lists.admin_class_id,
        coalesce(votes.current_class_count, 0) as current_class_count,
        coalesce(votes.class_count, 0) as class_count,
        false as is_inferred
    from lists
    inner join semesters
        on semesters.school_id = lists.school_id
    left join votes
        on votes.school_id = lists.school_id
        and votes.semester_id = semesters.semester_id
        and votes.student_id = lists.student_id
        and votes.admin_class_id = lists.admin_class_id
),

inferred as (
    select
        votes.school_id,
        votes.semester_id,
        votes.student_id,
        votes.admin_class_id,
        votes.current_class_count,
        votes.class_count,
        true as is_inferred
    from votes
    left join semesters
        on semesters.school_id = votes.school_id
        and semesters.semester_id = votes.semester_id
    left join admin_classes
        on admin_classes.school_id = votes.school_id
        and admin_classes.admin_class_id = votes.admin_class_id
    anti join listed
        on listed.school_id = votes.school_id
        and listed.semester_id = votes.semester_id
        and listed.student_id = votes.student_id
    where
        semesters.semester_id is null
        or admin_classes.listed_by is null
),

candidates as (
    select * from listed
    union all
    select * from inferred
)

select
    school_id,
    semester_id,
    student_id,
    arg_max(admin_class_id, (current_class_count, class_count, -admin_class_id)) as admin_class_id,
    any_value(is_inferred) as is_inferred,
    cast(sum(class_count) as bigint) as class_count
from candidates
group by school_id, semester_id, student_id
