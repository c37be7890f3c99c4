-- Grain: school, semester, teacher who teaches a class with grades or has scored an item.
-- Rules: overrides: grades of the teacher's classes (core.bridge_class_teacher) for which the platform suggests a
--   score; given ones have a score of the teacher's, overridden ones another one than the suggested.
--   override_rate = 100 * overridden / suggested. override_change = 100 * sum(score - suggested) / sum(full score) of
--   the overridden. A class that several teach counts for each of them.
--   scores: those that the teacher alone gave, with points (core.fct_item_score); a score that is made of the scores of
--   its parts (score_source items) is left out, as its parts are counted already. score_rate = 100 * points / full
--   points. Beside others: shared_ has the teacher's in courses of the semester (by name) that others scored too,
--   others_ those of the others there, and leniency is the difference of the two rates, in percentage points: classes
--   differ as well, so that it is a reason to look, and says nothing of the cause.
--   override_rate_low, override_rate_high: 95% interval by Wilson, with the grade as the unit: each is overridden by itself.
--   leniency_low, leniency_high: 95% interval by Welch's t. A student's scores go together, so that the unit is a
--   student in a course of an evaluator (shared_students). shrunken_leniency and verdict: the teacher beside the others, as
--   in marts.grade_class_against_cohort, among the teachers of the semester; too few: fewer than
--   comparison_minimum_grades (seeds.grade_thresholds) students on a side.
--   double_scored: items of a student that the teacher and others scored with rows of their own (core.fct_score);
--   mean_spread = mean of the greatest less the least of them, as a percentage of the full score.
--   Counts of grades, or of scores, are null where none were ever loaded of the semester.
-- Source: core.fct_grade, core.fct_item_score, core.fct_score, core.bridge_class_teacher.
with semesters as (
    select * from {{ ref('dim_semester') }}
),

teachers as (
    select * from {{ ref('dim_teacher') }}
),

items as (
    select
        items.school_id,
        items.assessment_item_id,
        items.full_score,
        assessments.semester_id,
        coalesce(classes.course_name, cast(assessments.course_class_id as varchar)) as course
    from {{ ref('dim_assessment_item') }} as items
    inner join {{ ref('dim_assessment') }} as assessments
        on assessments.school_id = items.school_id
        and assessments.assessment_id = items.assessment_id
    left join {{ ref('dim_course_class') }} as classes
        on classes.school_id = assessments.school_id
        and classes.course_class_id = assessments.course_class_id
    where
        items.full_score > 0
        and assessments.semester_id is not null
),

overrides as (
    select
        grades.school_id,
        grades.semester_id,
        class_teachers.teacher_id,
        count(*) as suggested,
        count(grades.score) as given,
        count(*) filter (where grades.score <> grades.suggest_score) as overridden,
        count(*) filter (where grades.score > grades.suggest_score) as raised,
        count(*) filter (where grades.score < grades.suggest_score) as lowered,
        sum(grades.score - grades.suggest_score) filter (where grades.score <> grades.suggest_score) as changed_points,
        sum(grades.full_score) filter (where grades.score <> grades.suggest_score) as changed_full_points
    from {{ ref('fct_grade') }} as grades
    inner join {{ ref('bridge_class_teacher') }} as class_teachers
        on class_teachers.school_id = grades.school_id
        and class_teachers.course_class_id = grades.course_class_id
        and class_teachers.is_current
    where
        grades.source = 'class'
        and grades.suggest_score is not null
        and grades.semester_id is not null
    group by grades.school_id, grades.semester_id, class_teachers.teacher_id
),

thresholds as (
    select school_id, value as minimum
    from {{ ref('stg_grade_thresholds') }}
    where threshold = 'comparison_minimum_grades'
),

students as (
    select
        items.school_id,
        items.semester_id,
        items.course,
        scores.evaluator_id as teacher_id,
        scores.student_id,
        count(*) as scores,
        sum(scores.score) as points,
        sum(items.full_score) as full_points
    from {{ ref('fct_item_score') }} as scores
    inner join items
        on items.school_id = scores.school_id
        and items.assessment_item_id = scores.assessment_item_id
    where
        scores.is_valid
        and scores.score is not null
        and scores.score_source <> 'items'
        and scores.evaluator_id is not null
    group by items.school_id, items.semester_id, items.course, scores.evaluator_id, scores.student_id
),

courses as (
    select
        school_id,
        semester_id,
        course,
        teacher_id,
        sum(scores) as scores,
        sum(points) as points,
        sum(full_points) as full_points,
        {{ cluster_sums('shared', 'points', 'full_points') }}
    from students
    group by school_id, semester_id, course, teacher_id
),

compared as (
    select
        *,
        sum(points) over in_course - points as others_points,
        sum(full_points) over in_course - full_points as others_full_points,
        {%- for column in ('clusters', 'part_squares', 'products', 'whole_squares') %}
        sum(shared_{{ column }}) over in_course - shared_{{ column }} as others_{{ column }}{{ ',' if not loop.last }}
        {%- endfor %}
    from courses
    window in_course as (partition by school_id, semester_id, course)
),

given as (
    select
        school_id,
        semester_id,
        teacher_id,
        cast(sum(scores) as bigint) as scores,
        sum(points) as points,
        sum(full_points) as full_points,
        cast(coalesce(sum(scores) filter (where others_full_points > 0), 0) as bigint) as shared_scores,
        sum(points) filter (where others_full_points > 0) as shared_points,
        sum(full_points) filter (where others_full_points > 0) as shared_full_points,
        sum(others_points) filter (where others_full_points > 0) as others_points,
        sum(others_full_points) filter (where others_full_points > 0) as others_full_points,
        {%- for column in ('clusters', 'part_squares', 'products', 'whole_squares') %}
        sum(shared_{{ column }}) filter (where others_full_points > 0) as shared_{{ column }},
        sum(others_{{ column }}) filter (where others_full_points > 0) as others_{{ column }}{{ ',' if not loop.last }}
        {%- endfor %}
    from compared
    group by school_id, semester_id, teacher_id
),

spreads as (
    select
        *,
        {{ rate_difference('shared_points', 'shared_full_points', 'others_points', 'others_full_points') }} as difference,
        10000 * {{ ratio_variance('shared', 'shared_points', 'shared_full_points') }} as shared_variance,
        10000 * {{ ratio_variance('others', 'others_points', 'others_full_points') }} as others_variance,
        sqrt(shared_variance + others_variance) as error,
        {{ welch_degrees('shared_variance', '(shared_clusters - 1)', 'others_variance', '(others_clusters - 1)') }}
            as degrees_of_freedom
    from given
),

leniencies as (
    select
        *,
        {{ reliability('error', between_variance('difference', 'error', 'in_semester')) }} as reliability
    from spreads
    window in_semester as (partition by school_id, semester_id)
),

-- Rows of several evaluators for one item of one student.
marked as (
    select
        scores.school_id,
        items.semester_id,
        list(distinct scores.evaluator_id) as teacher_ids,
        max(scores.score) - min(scores.score) as spread,
        any_value(items.full_score) as full_score
    from {{ ref('fct_score') }} as scores
    inner join items
        on items.school_id = scores.school_id
        and items.assessment_item_id = scores.assessment_item_id
    where
        scores.is_valid
        and scores.score_type = 'raw'
        and scores.score is not null
        and scores.evaluator_id is not null
    group by scores.school_id, items.semester_id, scores.assessment_item_id, scores.student_id
    having count(distinct scores.evaluator_id) > 1
),

double_scored as (
    select
        school_id,
        semester_id,
        teacher_id,
        count(*) as double_scored,
        sum({{ percent('spread', 'full_score', places=6, digits=18) }}) as spreads
    from (select *, unnest(teacher_ids) as teacher_id from marked)
    group by school_id, semester_id, teacher_id
),

behaviour as (
    select *
    from overrides
    full join leniencies using (school_id, semester_id, teacher_id)
    full join double_scored using (school_id, semester_id, teacher_id)
)

select
    behaviour.school_id,
    behaviour.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    behaviour.teacher_id,
    teachers.staff_number,
    teachers.teacher_name,
    {{ if_loaded(['grades'], 'coalesce(behaviour.suggested, 0)') }} as suggested,
    {{ if_loaded(['grades'], 'coalesce(behaviour.given, 0)') }} as given,
    {{ if_loaded(['grades'], 'coalesce(behaviour.overridden, 0)') }} as overridden,
    {{ rate('behaviour.overridden', 'behaviour.suggested') }} as override_rate,
    {%- for end in ('low', 'high') %}
    {{ wilson_limit('behaviour.overridden', 'behaviour.suggested', end) }} as override_rate_{{ end }},
    {%- endfor %}
    {{ if_loaded(['grades'], 'coalesce(behaviour.raised, 0)') }} as raised,
    {{ if_loaded(['grades'], 'coalesce(behaviour.lowered, 0)') }} as lowered,
    {{ percent('behaviour.changed_points', 'behaviour.changed_full_points', places=2) }} as override_change,
    {{ if_loaded(['scores'], 'coalesce(behaviour.scores, 0)') }} as scores,
    {{ percent('behaviour.points', 'behaviour.full_points', places=2) }} as score_rate,
    {{ if_loaded(['scores'], 'coalesce(behaviour.shared_scores, 0)') }} as shared_scores,
    {{ if_loaded(['scores'], 'cast(coalesce(behaviour.shared_clusters, 0) as bigint)') }} as shared_students,
    {{ percent('behaviour.shared_points', 'behaviour.shared_full_points', places=2) }} as shared_score_rate,
    {{ percent('behaviour.others_points', 'behaviour.others_full_points', places=2) }} as others_score_rate,
    cast(shared_score_rate - others_score_rate as decimal(9, 2)) as leniency,
    {%- for end in ('low', 'high') %}
    {{ t_limit(
        'behaviour.difference', '(behaviour.shared_variance + behaviour.others_variance)', 'behaviour.degrees_of_freedom', end,
        places=2
    ) }} as leniency_{{ end }},
    {%- endfor %}
    {{ rounded('behaviour.difference * behaviour.reliability', places=2) }} as shrunken_leniency,
    {{ verdict(
        'behaviour.difference', 'behaviour.error', 'behaviour.reliability',
        'least(behaviour.shared_clusters, behaviour.others_clusters)', 'thresholds.minimum',
        t_quantile('behaviour.degrees_of_freedom')
    ) }} as verdict,
    {{ in_words('verdict', 'verdict') }},
    {{ if_loaded(['scores'], 'coalesce(behaviour.double_scored, 0)') }} as double_scored,
    {{ ratio('behaviour.spreads', 'behaviour.double_scored', places=2) }} as mean_spread
from behaviour
left join semesters
    on semesters.school_id = behaviour.school_id
    and semesters.semester_id = behaviour.semester_id
left join teachers
    on teachers.school_id = behaviour.school_id
    and teachers.teacher_id = behaviour.teacher_id
left join thresholds
    on thresholds.school_id = behaviour.school_id
