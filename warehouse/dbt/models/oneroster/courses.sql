-- Grain: school, course: the course classes of a subject with the same course name; and one for the homerooms.
-- Rules: courses with a class in the exported year. macros/oneroster.sql says what makes a course.
-- Source: raw.classes, raw.terms, raw.admin_classes, core.dim_semester.
with classes as (
    {{ classes_of_year() }}
),

homerooms as (
    {{ homerooms() }}
),

courses as (
    select
        school_id,
        {{ sourced_id('course', ['course_id']) }} as sourced_id,
        min(course_title) as title,
        min(replace(subject_name, ',', ' ')) as subjects,
        min({{ subject_code('classes') }}) as subject_codes
    from classes
    group by school_id, course_id

    union all

    select distinct
        school_id,
        {{ sourced_id('course-homeroom') }},
        '行政班',
        null,
        null
    from homerooms
)

select
    school_id,
    sourced_id as "sourcedId",
    {{ bulk_columns() }},
    {{ blank(['schoolYearSourcedId']) }},
    title as "title",
    {{ blank(['courseCode', 'grades']) }},
    {{ sourced_id('school') }} as "orgSourcedId",
    subjects as "subjects",
    subject_codes as "subjectCodes"
from courses
