-- Grain: school, published item of an assessment; and the grade of each course class with published grades.
-- Rules: the platform has no day on which an item was set or is due: both days are those of the semester.
--   resultValueMin and resultValueMax: 0 and the full score; none for additions, nor where a published mark is below 0 or
--   above it, since receivers refuse such a mark.
-- Source: raw.assessment_items, raw.assessments, raw.grades, core.fct_item_score, core.dim_semester.
with items as (
    {{ items_of_year() }}
),

grades as (
    {{ grades_of_year() }}
),

marks as (
    select
        school_id,
        assessment_item_id,
        min(score) as lowest,
        max(score) as highest
    from {{ ref('fct_item_score') }}
    where
        published_at is not null
        and is_valid
    group by school_id, assessment_item_id
),

line_items as (
    select
        items.school_id,
        {{ sourced_id('lineitem-item', ['assessment_item_id'], 'items') }} as sourced_id,
        items.item_name as title,
        items.first_day,
        items.last_day,
        items.course_class_id,
        {{ sourced_id('category', ['category_id'], 'items') }} as category_sourced_id,
        items.semester_id,
        case when items.scoring_type is distinct from 'addition' then items.full_score end as full_score,
        marks.lowest,
        marks.highest
    from items
    left join marks
        on marks.school_id = items.school_id
        and marks.assessment_item_id = items.assessment_item_id

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
        max(full_score),
        min(real_score),
        max(real_score)
    from grades
    group by school_id, assessment_id, course_class_id
),

bounded as (
    select
        *,
        case when coalesce(lowest, 0) >= 0 and coalesce(highest, 0) <= full_score then full_score end as maximum
    from line_items
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
    case when maximum is not null then cast(0 as double) end as "resultValueMin",
    cast(maximum as double) as "resultValueMax",
    {{ sourced_id('school') }} as "schoolSourcedId"
from bounded
