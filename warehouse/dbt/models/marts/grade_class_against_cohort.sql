-- Grain: school, semester, course class, cohort: a class's students of one cohort. A class across cohorts has a
--   row for each.
-- Rules: grades as in grade_distribution. cohort_ columns are of everybody of that cohort who takes a course of the
--   same name in the semester, the class included. others_ columns leave the class out, and the class is compared with
--   the others: a class that is half of its cohort would be compared with itself by half.
--   difference = class_mean - others_mean, in percentage points; relative_difference = 100 * difference / others_mean,
--   in percent; effect_size = difference / pooled standard deviation (Cohen's d): the root of the mean of the variances
--   within the class and within the others, weighted by their degrees of freedom. Means come from sums.
--   difference_low, difference_high: its 95% interval by Welch's t. A student has one grade in a course, so that grades
--   are independent.
--   shrunken_difference = difference * reliability, the share of the difference that is no chance (empirical Bayes): t² /
--   (t² + e²), with t² the variance of the true differences among the cohort's classes in the course, by the method of
--   moments, and e the error of the difference by the variance within all these classes.
--   verdict: above or below the others, where the 95% interval of the shrunken difference leaves out zero: the more classes
--   differ by chance alone, the less of a difference is left. So of courses whose classes do not differ, about one in twenty
--   has a class with such a verdict, and not one class in twenty. Else not distinguishable, or too few: fewer than
--   comparison_minimum_grades (seeds.grade_thresholds) in the class or in the others. is_distinguishable says the same, and
--   is null for too few.
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
        difference_part / nullif(difference_whole, 0) as exact_difference,
        -- What each side adds to the variance of the difference.
        class_deviations / nullif(class_scored * (class_scored - 1), 0) as class_variance,
        others_deviations / nullif(others_scored * (others_scored - 1), 0) as others_variance,
        {{ welch_degrees('class_variance', '(class_scored - 1)', 'others_variance', '(others_scored - 1)') }} as degrees_of_freedom
    from beside_others
),

within as (
    select
        *,
        sum(class_deviations) over in_course
            / nullif(cohort_scored - count(*) filter (where class_scored > 0) over in_course, 0) as within_variance,
        sqrt(within_variance * (1 / nullif(class_scored, 0) + 1 / nullif(others_scored, 0))) as error
    from spread
    window in_course as (partition by school_id, semester_id, course, cohort_id)
),

shrunken as (
    select
        *,
        {{ reliability('error', between_variance('exact_difference', 'error', 'in_course')) }} as reliability
    from within
    window in_course as (partition by school_id, semester_id, course, cohort_id)
)

select
    shrunken.school_id,
    shrunken.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    shrunken.course_class_id,
    shrunken.course as course_name,
    shrunken.class_name,
    classes.teacher_names,
    shrunken.cohort_id,
    shrunken.cohort_name,
    'all' as population,
    shrunken.class_grades,
    shrunken.class_scored,
    shrunken.class_percent_sum,
    {{ ratio('shrunken.class_percent_sum', 'shrunken.class_scored') }} as class_mean,
    {{ rounded('shrunken.class_sd') }} as class_sd,
    {{ rate('shrunken.class_passed', '(shrunken.class_passed + shrunken.class_failed)') }} as class_pass_rate,
    shrunken.cohort_classes,
    shrunken.cohort_scored,
    shrunken.cohort_percent_sum,
    case when shrunken.cohort_id is not null then {{ ratio('shrunken.cohort_percent_sum', 'shrunken.cohort_scored') }} end as cohort_mean,
    case when shrunken.cohort_id is not null then {{ rounded('shrunken.cohort_sd') }} end as cohort_sd,
    case when shrunken.cohort_id is not null then {{ rate('shrunken.cohort_passed', '(shrunken.cohort_passed + shrunken.cohort_failed)') }} end as cohort_pass_rate,
    shrunken.others_scored,
    {{ ratio('shrunken.others_percent_sum', 'shrunken.others_scored') }} as others_mean,
    {{ ratio('shrunken.difference_part', 'shrunken.difference_whole') }} as difference,
    {%- for end in ('low', 'high') %}
    {{ t_limit(
        'shrunken.exact_difference', '(shrunken.class_variance + shrunken.others_variance)', 'shrunken.degrees_of_freedom', end
    ) }} as difference_{{ end }},
    {%- endfor %}
    {{ rounded('shrunken.exact_difference * shrunken.reliability') }} as shrunken_difference,
    {{ percent('shrunken.difference_part', '(shrunken.others_percent_sum * shrunken.class_scored)', places=2) }} as relative_difference,
    {{ rounded('shrunken.difference_part / nullif(shrunken.difference_whole * shrunken.pooled_sd, 0)') }} as effect_size,
    {{ verdict(
        'shrunken.exact_difference', 'sqrt(shrunken.class_variance + shrunken.others_variance)', 'shrunken.reliability',
        'least(shrunken.class_scored, shrunken.others_scored)', 'thresholds.minimum_grades',
        t_quantile('shrunken.degrees_of_freedom')
    ) }} as verdict,
    {{ in_words('verdict', 'verdict') }},
    case when verdict <> 'too few' then verdict <> 'not distinguishable' end as is_distinguishable,
    case when is_distinguishable then shrunken.rank end as rank
from shrunken
left join {{ ref('dim_semester') }} as semesters
    on semesters.school_id = shrunken.school_id
    and semesters.semester_id = shrunken.semester_id
left join classes
    on classes.school_id = shrunken.school_id
    and classes.course_class_id = shrunken.course_class_id
left join thresholds
    on thresholds.school_id = shrunken.school_id
