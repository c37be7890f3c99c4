-- Grain: school, semester, student of whom a score was expected.
-- Rules: as in marts.score_completeness, of which this is the same by student: members of the class on the
--   item's day are expected (core.fct_assessment_item: known_on), those who have left the class since only where
--   they have a score, and each of them is scored (zeros included), invalid, or missing. Items that have not
--   begun (is_begun) are missing of nobody.
--   missing_rate = 100 * missing / expected.
-- Source: core.fct_assessment_item, core.fct_score, core.bridge_class_student.
with items as (
    select * from {{ ref('fct_assessment_item') }} where is_begun
),

members as (
    select * from {{ ref('bridge_class_student') }}
),

scores as (
    select * from {{ ref('fct_score') }} where is_item_score
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
        and members.left_on is null
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
        count(*) filter (where not scores.is_valid) as invalid,
        count(*) filter (
            where members.left_on is not null and (scores.score is not null or not scores.is_valid)
        ) as of_those_who_left
    from scores
    inner join items
        on items.school_id = scores.school_id
        and items.assessment_item_id = scores.assessment_item_id
    inner join members
        on members.school_id = scores.school_id
        and members.course_class_id = items.course_class_id
        and members.student_id = scores.student_id
        and {{ is_member('members', 'items.known_on') }}
    where items.semester_id is not null
    group by items.school_id, items.semester_id, scores.student_id
),

counted as (
    select
        school_id,
        semester_id,
        student_id,
        coalesce(expectations.expected, 0) + coalesce(given.of_those_who_left, 0) as expected,
        coalesce(given.scored, 0) as scored,
        coalesce(given.invalid, 0) as invalid
    from expectations
    full join given using (school_id, semester_id, student_id)
)

select
    school_id,
    semester_id,
    student_id,
    expected,
    scored,
    invalid,
    expected - scored - invalid as missing,
    {{ rate('missing', 'expected') }} as missing_rate
from counted
where expected > 0
