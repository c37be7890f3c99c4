-- Grain: school, semester, course class, cohort: a class's students of one cohort. A class across cohorts has a
--   row for each.
-- Rules: grades as in grade_distribution. Compared with everybody of that cohort who takes a course of the same
--   name in the semester, the class itself included. difference = class_mean - cohort_mean, in percentage
--   points; relative_difference = 100 * difference / cohort_mean, in percent; effect_size = difference in
--   standard deviations of the cohort (sample's, n - 1). Means come from sums; rank is the min-rank of the class
--   by its mean among the cohort's classes in the course, 1 the best.
-- Source: core.fct_grade and dimensions.
with {{ grades_with_groups() }},

class_sums as (
    select
        school_id,
        semester_id,
        course_class_id,
        cohort_id,
        any_value(course) as course,
        any_value(class_name) as class_name,
        any_value(cohort_name) as cohort_name,
        count(*) as class_grades,
        count(score_percent) as class_scored,
        count(*) filter (where is_passed) as class_passed,
        count(*) filter (where not is_passed) as class_failed,
        sum(score_percent) as class_percent_sum,
        stddev_samp(score_percent) as class_sd
    from grades
    where course_class_id is not null
    group by school_id, semester_id, course_class_id, cohort_id
),

cohort_sds as (
    select
        school_id,
        semester_id,
        course,
        cohort_id,
        stddev_samp(score_percent) as cohort_sd
    from grades
    where course_class_id is not null
    group by school_id, semester_id, course, cohort_id
),

compared as (
    select
        class_sums.*,
        count(*) over in_course as cohort_classes,
        cast(sum(class_scored) over in_course as bigint) as cohort_scored,
        cast(sum(class_passed) over in_course as bigint) as cohort_passed,
        cast(sum(class_failed) over in_course as bigint) as cohort_failed,
        sum(class_percent_sum) over in_course as cohort_percent_sum,
        -- With so many digits only the same means tie.
        rank() over (
            in_course order by {{ ratio('class_percent_sum', 'class_scored', places=12, digits=38) }} desc nulls last
        ) as rank
    from class_sums
    window in_course as (partition by school_id, semester_id, course, cohort_id)
),

means as (
    select
        compared.*,
        cohort_sds.cohort_sd,
        -- The difference of the means, both brought to the same denominator.
        compared.class_percent_sum * compared.cohort_scored
            - compared.cohort_percent_sum * compared.class_scored as difference_part,
        compared.class_scored * compared.cohort_scored as difference_whole
    from compared
    left join cohort_sds
        on cohort_sds.school_id = compared.school_id
        and cohort_sds.semester_id = compared.semester_id
        and cohort_sds.course is not distinct from compared.course
        and cohort_sds.cohort_id is not distinct from compared.cohort_id
)

select
    means.school_id,
    means.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    means.course_class_id,
    means.course as course_name,
    means.class_name,
    classes.teacher_names,
    means.cohort_id,
    means.cohort_name,
    'all' as population,
    means.class_grades,
    means.class_scored,
    means.class_percent_sum,
    {{ ratio('means.class_percent_sum', 'means.class_scored') }} as class_mean,
    {{ rounded('means.class_sd') }} as class_sd,
    {{ rate('means.class_passed', '(means.class_passed + means.class_failed)') }} as class_pass_rate,
    means.cohort_classes,
    means.cohort_scored,
    means.cohort_percent_sum,
    {{ ratio('means.cohort_percent_sum', 'means.cohort_scored') }} as cohort_mean,
    {{ rounded('means.cohort_sd') }} as cohort_sd,
    {{ rate('means.cohort_passed', '(means.cohort_passed + means.cohort_failed)') }} as cohort_pass_rate,
    {{ ratio('means.difference_part', 'means.difference_whole') }} as difference,
    {{ percent('means.difference_part', '(means.cohort_percent_sum * means.class_scored)', places=2) }} as relative_difference,
    {{ rounded('means.difference_part / nullif(means.difference_whole * means.cohort_sd, 0)') }} as effect_size,
    case when means.class_scored > 0 then means.rank end as rank
from means
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = means.school_id
    and semesters.semester_id = means.semester_id
left join classes
    on classes.school_id = means.school_id
    and classes.course_class_id = means.course_class_id
