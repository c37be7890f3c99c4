-- Grain: school, course class with published grades: the scale from percent of the full score to grade points.
-- Rules: the scale in force (seeds.gpa_scale), since the platform has none. A step begins at its first number.
-- Source: seeds.gpa_scale, raw.grades, core.dim_semester.
with grades as (
    {{ grades_of_year() }}
),

scales as (
    select
        school_id,
        string_agg(
            '{' || {{ plain_number('lower_percent') }}
            || '-' || {{ plain_number('coalesce(upper_percent, 100)') }}
            || ':' || {{ plain_number('grade_points') }} || '}',
            ','
            order by lower_percent desc
        ) as steps
    from {{ ref('stg_gpa_scale') }}
    group by school_id
),

classes as (
    select distinct school_id, course_class_id, course_id from grades
)

select
    classes.school_id,
    {{ sourced_id('scorescale', ['course_class_id'], 'classes') }} as "sourcedId",
    {{ bulk_columns() }},
    '绩点' as "title",
    'grade points by percent' as "type",
    {{ sourced_id('school', of='classes') }} as "orgSourcedId",
    {{ sourced_id('course', ['course_id'], 'classes') }} as "courseSourcedId",
    {{ sourced_id('class', ['course_class_id'], 'classes') }} as "classSourcedId",
    scales.steps as "scoreScaleValue"
from classes
inner join scales
    on scales.school_id = classes.school_id
