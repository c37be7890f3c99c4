-- Grain: school, class: a course class of the exported year (scheduled), or a live administrative class (homeroom).
-- Rules: grades: the grade levels of the class's grades in its semester, with two digits. periods: the lessons of the
--   timetable; location: its room, if it has only one. An administrative class has no semester, and is taught in all of
--   the year.
-- Source: raw.classes, raw.v1_classes, raw.admin_classes, raw.structures, core.cohort_grade_level, core.dim_semester.
with semesters as (
    {{ semesters_of_year() }}
),

course_classes as (
    {{ classes_of_year() }}
),

homerooms as (
    {{ homerooms() }}
),

structures as (
    select * from {{ ref('dim_structure') }}
),

levels as (
    select * from {{ ref('cohort_grade_level') }}
),

timetable as (
    select * from {{ ref('fct_timetable') }}
),

grades as (
    select
        classes.school_id,
        classes.course_class_id,
        string_agg(distinct lpad(cast(levels.grade_level as varchar), 2, '0'), ',' order by
            lpad(cast(levels.grade_level as varchar), 2, '0')) as grades
    from (select *, unnest(grade_ids) as grade_id from course_classes) as classes
    inner join structures
        on structures.school_id = classes.school_id
        and structures.structure_id = classes.grade_id
    inner join levels
        on levels.school_id = classes.school_id
        and levels.semester_id = classes.semester_id
        and levels.cohort_id = structures.graduates_in_id
    group by classes.school_id, classes.course_class_id
),

lessons as (
    select
        school_id,
        course_class_id,
        array_to_string(list_sort(list(distinct lesson)), ',') as periods,
        case when count(distinct location_names) = 1 then any_value(location_names) end as room
    from timetable
    group by school_id, course_class_id
),

years as (
    select
        school_id,
        arg_max(semester_id, first_day) filter (where is_current) as current_semester_id,
        string_agg({{ sourced_id('semester', ['semester_id']) }}, ',' order by first_day, semester_id) as terms
    from semesters
    group by school_id
)

select
    classes.school_id,
    {{ sourced_id('class', ['course_class_id'], 'classes') }} as "sourcedId",
    {{ bulk_columns() }},
    coalesce({{ class_in_words() }}, classes.class_code) as "title",
    grades.grades as "grades",
    {{ sourced_id('course', ['course_id'], 'classes') }} as "courseSourcedId",
    classes.class_code as "classCode",
    'scheduled' as "classType",
    lessons.room as "location",
    {{ sourced_id('school', of='classes') }} as "schoolSourcedId",
    {{ sourced_id('semester', ['semester_id'], 'classes') }} as "termSourcedIds",
    replace(classes.subject_name, ',', ' ') as "subjects",
    {{ subject_code('classes') }} as "subjectCodes",
    lessons.periods as "periods"
from course_classes as classes
left join grades
    on grades.school_id = classes.school_id
    and grades.course_class_id = classes.course_class_id
left join lessons
    on lessons.school_id = classes.school_id
    and lessons.course_class_id = classes.course_class_id

union all

select
    homerooms.school_id,
    {{ sourced_id('homeroom', ['admin_class_id'], 'homerooms') }} as "sourcedId",
    {{ bulk_columns() }},
    homerooms.admin_class_name as "title",
    lpad(cast(levels.grade_level as varchar), 2, '0') as "grades",
    {{ sourced_id('course-homeroom', of='homerooms') }} as "courseSourcedId",
    cast(null as varchar) as "classCode",
    'homeroom' as "classType",
    cast(null as varchar) as "location",
    {{ sourced_id('school', of='homerooms') }} as "schoolSourcedId",
    years.terms as "termSourcedIds",
    {{ blank(['subjects', 'subjectCodes', 'periods']) }}
from homerooms
left join years
    on years.school_id = homerooms.school_id
left join levels
    on levels.school_id = homerooms.school_id
    and levels.semester_id = years.current_semester_id
    and levels.cohort_id = homerooms.cohort_id
