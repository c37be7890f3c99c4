-- Grain: school, semester, student with at least one expected score.
-- Rules: counts by student what marts.score_completeness counts by item. Members of the class on the item's day
--     (core.fct_assessment_item: known_on) are expected; members who have left since only with a score. Each expected
--     score is scored (zeros included), invalid or missing. Items that have not begun (is_begun) do not count.
--   missing_rate = 100 * missing / expected. missing_as_zero: missing scores of assessments whose grades are sums
--     (core.fct_grade_by_items: rule), so that a missing score counts as zero points.
-- Source: core.fct_assessment_item, core.fct_item_score, core.bridge_class_student, core.fct_grade_by_items.
with items as (
    select * from {{ ref('fct_assessment_item') }} where is_begun
),

members as (
    select * from {{ ref('bridge_class_student') }}
),

scores as (
    select * from {{ ref('fct_item_score') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

summed as (
    {{ summed_assessments() }}
),

counted as (
    select
        items.school_id,
        items.semester_id,
        members.student_id,
        count(*) filter (
            where members.left_on is null or {{ is_given('scores') }}
        ) as expected,
        count(*) filter (where {{ is_given('scores') }} and scores.is_valid) as scored,
        count(*) filter (
            where not scores.is_valid and (members.left_on is null or {{ is_given('scores') }})
        ) as invalid,
        count(*) filter (
            where
                summed.assessment_id is not null
                and members.left_on is null
                and coalesce(scores.is_valid, true)
                and not coalesce({{ is_given('scores') }}, false)
        ) as missing_as_zero
    from items
    inner join members
        on members.school_id = items.school_id
        and members.course_class_id = items.course_class_id
        and {{ is_member('members', 'items.known_on') }}
    left join scores
        on scores.school_id = items.school_id
        and scores.assessment_item_id = items.assessment_item_id
        and scores.student_id = members.student_id
    left join summed
        on summed.school_id = items.school_id
        and summed.assessment_id = items.assessment_id
    where items.semester_id is not null
    group by items.school_id, items.semester_id, members.student_id
)

select
    school_id,
    semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    counted.student_id,
    {%- for count in ('expected', 'scored', 'invalid') %}
    {{ if_loaded(['class_members', 'students'], 'counted.' ~ count) }} as {{ count }},
    {%- endfor %}
    {{ if_loaded(['class_members', 'students'], 'counted.expected - counted.scored - counted.invalid') }} as missing,
    {{ rate('missing', 'counted.expected') }} as missing_rate,
    {{ if_loaded(['class_members', 'students', 'grades'], 'counted.missing_as_zero') }} as missing_as_zero
from counted
left join semesters using (school_id, semester_id)
where counted.expected > 0
