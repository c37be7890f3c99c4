-- Grain: school, published item of an assessment; and the grade of each course class with published grades.
-- Rules: the platform has no day on which an item was set or is due: both days are those of the semester.
--   resultValueMin and resultValueMax: 0 and the full score; none for additions, which may be below 0 or above it.
-- Source: raw.assessment_items, raw.assessments, raw.grades, core.dim_semester.
with items as (
    {{ items_of_year() }}
),

grades as (
    {{ grades_of_year() }}
),

line_items as (
    select
        school_id,
        {{ sourced_id('lineitem-item', ['assessment_item_id']) }} as sourced_id,
        item_name as title,
        first_day,
        last_day,
        course_class_id,
        {{ sourced_id('category', ['category_id']) }} as category_sourced_id,
        semester_id,
        case when scoring_type is distinct from 'addition' then full_score end as full_score
    from items

    union all

    select
        school_id,
        {{ sourced_id('lineitem-grade', ['assessment_id']) }},
        '总评',
        any_value(first_day),
        any_value(last_day),
        course_class_id,
        {{ sourced_id('category-grade') }},
        any_value(semester_id),
        max(full_score)
    from grades
    group by school_id, assessment_id, course_class_id
)

select
    school_id,
    sourced_id as "sourcedId",
    {{ bulk_columns() }},
    title as "title",
    cast(null as varchar) as "description",
    first_day as "assignDate",
    last_day as "dueDate",
    {{ sourced_id('class', ['course_class_id']) }} as "classSourcedId",
    category_sourced_id as "categorySourcedId",
    {{ sourced_id('semester', ['semester_id']) }} as "academicSessionSourcedId",
    case when full_score is not null then cast(0 as double) end as "resultValueMin",
    cast(full_score as double) as "resultValueMax",
    {{ sourced_id('school') }} as "schoolSourcedId"
from line_items
