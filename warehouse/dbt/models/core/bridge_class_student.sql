-- Grain: school, course class, student who belongs or belonged to the class.
-- Rules: memberships come from v3 (bridge_class_member). Several memberships of a student become one, from the first
--     day of any to the last. A membership without a day of joining holds from the start.
--   Schools enter rosters late, or enter them again. So joined_on is no later than the student's first attendance or
--     score in the class.
--   A class without memberships in v3 has the students that v1 lists now, without dates.
--   A student who has left the school has left the class by that day.
--   undated_since: of a student with a membership without a day of joining: when a sync first saw such a one.
--   is_expected: attendance of the student can be expected. Platforms hide the attendance of students who have left the
--     school. So is_expected is false for such a student without any record in the semester.
-- Source: raw.class_members, raw.v1_class_students, raw.attendance_records, raw.scores.
with members as (
    select * from {{ ref('bridge_class_member') }}
),

students as (
    select * from {{ ref('dim_student') }}
),

v1_students as (
    select * from {{ ref('stg_v1_class_students') }}
),

classes as (
    select * from {{ ref('dim_teaching_class') }}
),

people as (
    select * from {{ ref('bridge_v1_person') }}
),

gone as (
    select school_id, student_id, cast(deleted_at as date) as gone_on
    from students
    where is_deleted
),

-- Students who have left the school, and whose attendance the platform still shows.
shown as (
    select distinct school_id, semester_id, student_id
    from {{ ref('fct_attendance') }}
    semi join gone using (school_id, student_id)
),

attended as (
    select school_id, course_class_id, student_id, min(date) as first_on, count(*) as attendance_records
    from {{ ref('fct_attendance') }}
    group by school_id, course_class_id, student_id
),

scored as (
    select school_id, course_class_id, student_id, cast(min(created_at) as date) as first_on
    from {{ ref('fct_score') }} as scores
    where {{ is_given('scores') }}
    group by school_id, course_class_id, student_id
),

memberships as (
    select
        members.school_id,
        members.course_class_id,
        members.member_id as student_id,
        any_value(members.semester_id) as semester_id,
        -- A student without a day of joining was a member from the start.
        case when bool_and(members.joined_at is not null) then min(cast(members.joined_at as date)) end as joined_on,
        min(members.stored_at) filter (where members.joined_at is null) as undated_since,
        case when bool_and(members.left_at is not null) then max(cast(members.left_at as date)) end as left_on
    from members
    -- The interface does not specify the values of member_type, so dim_student decides who is a student.
    semi join students
        on students.school_id = members.school_id
        and students.student_id = members.member_id
    group by members.school_id, members.course_class_id, members.member_id

    union all

    select
        v1_students.school_id,
        classes.course_class_id,
        people.person_id as student_id,
        classes.semester_id,
        null as joined_on,
        v1_students.synced_at as undated_since,
        null as left_on
    from v1_students
    inner join classes
        on classes.school_id = v1_students.school_id
        and classes.v1_class_id = v1_students.v1_class_id
    inner join people
        on people.school_id = v1_students.school_id
        and people.v1_person_id = v1_students.v1_student_id
    anti join members
        on members.school_id = classes.school_id
        and members.course_class_id = classes.course_class_id
),

dated as (
    select
        memberships.* replace (
            case
                when memberships.joined_on is not null
                    then least(memberships.joined_on, attended.first_on, scored.first_on)
            end as joined_on
        ),
        coalesce(attended.attendance_records, 0) as attendance_records
    from memberships
    left join attended
        on attended.school_id = memberships.school_id
        and attended.course_class_id = memberships.course_class_id
        and attended.student_id = memberships.student_id
    left join scored
        on scored.school_id = memberships.school_id
        and scored.course_class_id = memberships.course_class_id
        and scored.student_id = memberships.student_id
)

select
    dated.school_id,
    dated.course_class_id,
    dated.student_id,
    dated.semester_id,
    dated.joined_on,
    case
        when gone.student_id is not null then greatest(least(dated.left_on, gone.gone_on), dated.joined_on)
        else dated.left_on
    end as left_on,
    gone.student_id is null or shown.student_id is not null as is_expected,
    dated.attendance_records,
    dated.undated_since
from dated
left join gone
    on gone.school_id = dated.school_id
    and gone.student_id = dated.student_id
left join shown
    on shown.school_id = dated.school_id
    and shown.semester_id = dated.semester_id
    and shown.student_id = dated.student_id
