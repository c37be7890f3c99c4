-- Grain: school, semester, course class, cohort: a class's students of one cohort. A class across cohorts has a
--   row for each.
-- Rules: grades as in grade_distribution. cohort_ columns are of everybody of that cohort who takes a course of the
--   same name in the semester, the class included. others_ columns leave the class out, and the class is compared with
--   the others: a class that is half of its cohort would be compared with itself by half.
--   difference = class_mean - others_mean, in percentage points; relative_difference = 100 * difference / others_mean,
--   in percent; effect_size = difference / pooled standard deviation (Cohen's d): the root of the mean of the variances
--   within the class and within the others, weighted by their degrees of freedom. Means come from sums.
--   is_distinguishable: Welch's t test, two-sided, at 5%; null with fewer than comparison_minimum_grades
--   (seeds.grade_thresholds) in the class or in the others.
--   Students without a cohort, or whose cohort is not known, are compared with nobody: their others_ columns, the
--   comparison and the rank are null, and so are the mean, deviation and pass rate of a cohort.
--   rank: min-rank of the class by its mean among the cohort's classes in the course, 1 the best; only of a class that
--   is distinguishable from the others.
-- Source: core.fct_grade and dimensions.
with {{ grades_with_groups() }},

thresholds as (
    select school_id, value as minimum_grades
    from {{ ref('stg_grade_thresholds') }}
    where threshold = 'comparison_minimum_grades'
),

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
        {{ squares('score_percent') }} as class_squares,
        stddev_samp(score_percent) as class_sd
    from grades
    where course_class_id is not null
    group by school_id, semester_id, course_class_id, cohort_id
),

cohorts as (
    select
        school_id,
        semester_id,
        course,
        cohort_id,
        {{ squares('score_percent') }} as cohort_squares,
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

beside_others as (
    select
        compared.*,
        cohorts.cohort_sd,
        cohorts.cohort_squares - compared.class_squares as others_squares,
        case when compared.cohort_id is not null then compared.cohort_scored - compared.class_scored end as others_scored,
        compared.cohort_percent_sum - coalesce(compared.class_percent_sum, 0) as others_percent_sum,
        -- The difference of the means, both brought to the same denominator.
        compared.class_percent_sum * others_scored - others_percent_sum * compared.class_scored as difference_part,
        compared.class_scored * others_scored as difference_whole
    from compared
    left join cohorts
        on cohorts.school_id = compared.school_id
        and cohorts.semester_id = compared.semester_id
        and cohorts.course is not distinct from compared.course
        and cohorts.cohort_id is not distinct from compared.cohort_id
),

spread as (
    select
        *,
        {{ squared_deviations('class_scored', 'class_percent_sum', 'class_squares') }} as class_deviations,
        {{ squared_deviations('others_scored', 'others_percent_sum', 'others_squares') }} as others_deviations,
        sqrt((class_deviations + others_deviations) / nullif(cohort_scored - 2, 0)) as pooled_sd,
        -- What each side adds to the variance of the difference, and its degrees of freedom.
        class_deviations / nullif(class_scored * (class_scored - 1), 0) as class_error,
        others_deviations / nullif(others_scored * (others_scored - 1), 0) as others_error,
        (class_error + others_error) ** 2
        / nullif(class_error ** 2 / (class_scored - 1) + others_error ** 2 / (others_scored - 1), 0)
            as degrees_of_freedom
    from beside_others
),

means as (
    select
        spread.*,
        case
            when spread.cohort_id is null then null
            when least(spread.class_scored, spread.others_scored) < thresholds.minimum_grades then null
            -- Neither side varies.
            when spread.degrees_of_freedom is null then spread.difference_part <> 0
            else abs(spread.difference_part / spread.difference_whole)
                > {{ t_quantile('spread.degrees_of_freedom') }} * sqrt(spread.class_error + spread.others_error)
        end as is_distinguishable
    from spread
    left join thresholds
        on thresholds.school_id = spread.school_id
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
    case when means.cohort_id is not null then {{ ratio('means.cohort_percent_sum', 'means.cohort_scored') }} end as cohort_mean,
    case when means.cohort_id is not null then {{ rounded('means.cohort_sd') }} end as cohort_sd,
    case when means.cohort_id is not null then {{ rate('means.cohort_passed', '(means.cohort_passed + means.cohort_failed)') }} end as cohort_pass_rate,
    means.others_scored,
    {{ ratio('means.others_percent_sum', 'means.others_scored') }} as others_mean,
    {{ ratio('means.difference_part', 'means.difference_whole') }} as difference,
    {{ percent('means.difference_part', '(means.others_percent_sum * means.class_scored)', places=2) }} as relative_difference,
    {{ rounded('means.difference_part / nullif(means.difference_whole * means.pooled_sd, 0)') }} as effect_size,
    means.is_distinguishable,
    case when means.is_distinguishable then means.rank end as rank
from means
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = means.school_id
    and semesters.semester_id = means.semester_id
left join classes
    on classes.school_id = means.school_id
    and classes.course_class_id = means.course_class_id
