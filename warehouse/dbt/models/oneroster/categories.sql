-- Grain: school, category of marks: the top dimensions with the same name in all assessments; and one for grades.
-- Rules: categories of exported items. Weights differ by class, so a category has none.
-- Source: raw.assessment_items, raw.grades.
with items as (
    {{ items_of_year() }}
),

grades as (
    {{ grades_of_year() }}
),

categories as (
    select
        school_id,
        {{ sourced_id('category', ['category_id']) }} as sourced_id,
        level_1_name as title
    from items
    group by all

    union all

    select distinct
        school_id,
        {{ sourced_id('category-grade') }},
        '总评'
    from grades
)

select
    school_id,
    sourced_id as "sourcedId",
    {{ bulk_columns() }},
    title as "title",
    cast(null as integer) as "weight"
from categories
