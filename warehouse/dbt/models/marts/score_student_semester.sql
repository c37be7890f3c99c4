-- Grain: school, semester, student of whom a score was expected.
-- Rules: as in marts.score_completeness, of which this is the same by student: members of the class on the
--   item's day are expected (core.fct_assessment_item: known_on), and each of them is scored (zeros included),
--   invalid, or missing. Items that nobody has a score of have not begun, and are missing of nobody.
--   missing_rate = 100 * missing / expected.
-- Source: core.fct_assessment_item, core.fct_score, core.bridge_class_student.
with items as (
    select * from {{ ref('fct_assessment_item') }} where last_scored_at is not null
),

members as (
    select * from {{ ref('bridge_class_student') }}
),

scores as (
    select * from {{ ref('fct_score') }} where score_type = 'item_score'
),

expectations as (
    select
        items.school_id,
        items.semester_id,
        members.student_id,
        count(*) as expected
    from items
    inner join members
        on members.school_id = items.school_id
        and members.course_class_id = items.course_class_id
        and {{ is_member('members', 'items.known_on') }}
    where items.semester_id is not null
    group by items.school_id, items.semester_id, members.student_id
),

given as (
    select
        items.school_id,
        items.semester_id,
        scores.student_id,
        count(*) filter (where scores.score is not null and scores.is_valid) as scored,
        count(*) filter (where not scores.is_valid) as invalid
    from scores
    inner join items
        on items.school_id = scores.school_id
        and items.assessment_item_id = scores.assessment_item_id
    inner join members
        on members.school_id = scores.school_id
        and members.course_class_id = items.course_class_id
        and members.student_id = scores.student_id
        and {{ is_member('members', 'items.known_on') }}
    group by items.school_id, items.semester_id, scores.student_id
)

select
    expectations.school_id,
    expectations.semester_id,
    expectations.student_id,
    expectations.expected,
    coalesce(given.scored, 0) as scored,
    coalesce(given.invalid, 0) as invalid,
    -- A platform that sends an item twice makes nothing less than nothing.
    greatest(expectations.expected - coalesce(given.scored, 0) - coalesce(given.invalid, 0), 0) as missing,
    {{ rate('missing', 'expectations.expected') }} as missing_rate
from expectations
left join given
    on given.school_id = expectations.school_id
    and given.semester_id = expectations.semester_id
    and given.student_id = expectations.student_id
