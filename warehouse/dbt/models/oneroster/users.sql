-- Grain: school, person: live students and teachers.
-- Rules: guardians stay out, and so do phone numbers and email addresses, which core does not have. The export adds
--   addresses where campus.yaml says so.
--   username: the student or staff number, else the sourcedId, which is always there.
--   The platform has one name; macros/oneroster.sql says how it becomes two.
-- Source: raw.students, raw.teachers, core.cohort_grade_level, core.dim_semester.
with semesters as (
    select * from ({{ semesters_of_year() }}) where is_current
    qualify row_number() over (partition by school_id order by first_day desc nulls last, semester_id) = 1
),

levels as (
    select * from {{ ref('cohort_grade_level') }}
    semi join semesters using (school_id, semester_id)
),

users as (
    select
        school_id,
        {{ sourced_id('student', ['student_id']) }} as sourced_id,
        nullif(trim(student_name), '') as name,
        nullif(trim(student_number), '') as number,
        outer_id,
        status,
        cohort_id
    from ({{ people('dim_student', 'student_id') }})

    union all

    select
        school_id,
        {{ sourced_id('teacher', ['teacher_id']) }},
        nullif(trim(teacher_name), ''),
        nullif(trim(staff_number), ''),
        outer_id,
        status,
        null
    from ({{ people('dim_teacher', 'teacher_id') }})
),

named as (
    select
        *,
        {{ family_name('name') }} as family_name,
        {{ given_name('name', 'family_name') }} as given_name
    from users
)

select
    named.school_id,
    named.sourced_id as "sourcedId",
    {{ bulk_columns() }},
    not {{ is_archived('named.status') }} as "enabledUser",
    coalesce(named.number, named.sourced_id) as "username",
    case when regexp_full_match(named.outer_id, '[A-Za-z0-9._/@-]+') then '{outer_id:' || named.outer_id || '}' end
        as "userIds",
    named.given_name as "givenName",
    case when named.name is not null then named.family_name end as "familyName",
    {{ blank(['middleName']) }},
    named.number as "identifier",
    {{ blank(['email', 'sms', 'phone', 'agentSourcedIds']) }},
    lpad(cast(levels.grade_level as varchar), 2, '0') as "grades",
    {{ blank(['password', 'userMasterIdentifier', 'preferredGivenName', 'preferredMiddleName',
        'preferredFamilyName']) }},
    {{ sourced_id('school', of='named') }} as "primaryOrgSourcedId",
    {{ blank(['pronouns']) }}
from named
left join levels
    on levels.school_id = named.school_id
    and levels.cohort_id = named.cohort_id
