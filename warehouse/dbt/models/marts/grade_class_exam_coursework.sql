-- Grain: school, assessment (of a course class) whose test has examinations and coursework.
-- Rules: the class's points in examinations beside its points in all else, student by student. The test, its items and
--   is_examination are those of marts.score_item_analysis. students: with a score on every item of the test.
--   examination_rate and coursework_rate: 100 * points / full score over the students.
--   difference: mean of the students' examination rate less their coursework rate, in percentage points, with its 95%
--   confidence interval by Student's t of the pairs. is_distinguishable: 0 is outside of the interval. Null with fewer
--   students than comparison_minimum_grades (seeds.grade_thresholds).
--   others_difference: the same mean over the students of the other classes with a course of the same name in the
--   semester.
-- Known: examinations are harder than homework as a rule, so that most differences are below 0: compare with the other
--   classes. A difference does not tell whether coursework is marked mildly, was copied, or prepares badly.
-- Source: marts.score_item_analysis, core.fct_item_score.
with items as (
    select * from {{ ref('score_item_analysis') }} where is_in_test
),

thresholds as (
    select school_id, value as minimum_students
    from {{ ref('stg_grade_thresholds') }}
    where threshold = 'comparison_minimum_grades'
),

tests as (
    select
        school_id,
        assessment_id,
        any_value(semester_id) as semester_id,
        any_value(school_name) as school_name,
        any_value(semester_name) as semester_name,
        any_value(is_current) as is_current,
        any_value(course_class_id) as course_class_id,
        any_value(course_name) as course_name,
        any_value(class_name) as class_name,
        any_value(teacher_names) as teacher_names,
        count(*) filter (where is_examination) as examination_items,
        count(*) filter (where not is_examination) as coursework_items,
        sum(full_score) filter (where is_examination) as examination_full_score,
        sum(full_score) filter (where not is_examination) as coursework_full_score
    from items
    group by school_id, assessment_id
    having
        count(*) filter (where is_examination) > 0
        and count(*) filter (where not is_examination) > 0
),

pairs as (
    select
        scores.school_id,
        scores.assessment_id,
        scores.student_id,
        count(*) as scored_items,
        sum(scores.score) filter (where items.is_examination) as examination_points,
        sum(scores.score) filter (where not items.is_examination) as coursework_points
    from {{ ref('fct_item_score') }} as scores
    inner join items
        on items.school_id = scores.school_id
        and items.assessment_item_id = scores.assessment_item_id
    where
        scores.is_valid
        and scores.score is not null
    group by scores.school_id, scores.assessment_id, scores.student_id
),

differences as (
    select
        pairs.*,
        100 * cast(pairs.examination_points as double) / tests.examination_full_score
        - 100 * cast(pairs.coursework_points as double) / tests.coursework_full_score as difference
    from tests
    inner join pairs
        on pairs.school_id = tests.school_id
        and pairs.assessment_id = tests.assessment_id
        and pairs.scored_items = tests.examination_items + tests.coursework_items
),

sums as (
    select
        school_id,
        assessment_id,
        count(*) as students,
        sum(examination_points) as examination_points,
        sum(coursework_points) as coursework_points,
        sum(difference) as difference_sum,
        stddev_samp(difference) as difference_sd
    from differences
    group by school_id, assessment_id
),

beside_others as (
    select
        tests.*,
        sums.* exclude (school_id, assessment_id),
        case
            when tests.course_name is not null then cast(sum(sums.students) over in_course - sums.students as bigint)
        end as others_students,
        (sum(sums.difference_sum) over in_course - sums.difference_sum) / nullif(others_students, 0) as others_difference
    from tests
    inner join sums
        on sums.school_id = tests.school_id
        and sums.assessment_id = tests.assessment_id
    window in_course as (partition by tests.school_id, tests.semester_id, tests.course_name)
),

intervals as (
    select
        beside_others.*,
        case when students >= thresholds.minimum_students then difference_sum / students end as difference,
        {{ t_quantile('nullif(students - 1, 0)') }} * difference_sd / sqrt(students) as half_width
    from beside_others
    left join thresholds
        on thresholds.school_id = beside_others.school_id
)

select
    school_id,
    semester_id,
    school_name,
    semester_name,
    is_current,
    course_class_id,
    course_name,
    class_name,
    teacher_names,
    assessment_id,
    'all' as population,
    examination_items,
    coursework_items,
    students,
    {{ percent('examination_points', '(students * examination_full_score)', places=2) }} as examination_rate,
    {{ percent('coursework_points', '(students * coursework_full_score)', places=2) }} as coursework_rate,
    {{ rounded('difference', places=2) }} as difference,
    {{ rounded('difference - half_width', places=2) }} as difference_low,
    {{ rounded('difference + half_width', places=2) }} as difference_high,
    abs(difference) > half_width as is_distinguishable,
    others_students,
    {{ rounded('others_difference', places=2) }} as others_difference
from intervals
