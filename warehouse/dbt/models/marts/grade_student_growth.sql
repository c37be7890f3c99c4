-- Grain: school, semester, student who is ranked in the cohort (marts.grade_student_semester) in the semester and in an
--   earlier one.
-- Rules: growth is the student's score rate beside those of the cohort who scored alike before.
--   earlier_score_rate: points / full score over all earlier semesters in which the student was ranked.
--   expected_score_rate: of the regression line of score_rate on earlier_score_rate through the cohort's students.
--   growth = score_rate - expected_score_rate, in percentage points.
--   growth_se: its standard error, since a rate is a mean of few courses: of the spread of the student's courses around
--     their means in the cohort, in the semester and, times the slope of the line, in the earlier ones. Null with a
--     single course in a semester.
--   growth_percentile: how many of 100 students of the cohort grew less; students who grew the same count by half.
--   growth_percentile_low and growth_percentile_high: the share of the cohort that grew by no more than growth -/+ 1.96
--     standard errors. is_distinguishable: 50 is outside of this interval.
--   All are null with fewer than growth_minimum_students (seeds.grade_thresholds) in the cohort, and where no earlier
--   rate differs. A semester that is not over has pending grades: its growth is provisional.
-- Known: growth is relative: half of a cohort is below 50, however well it learns. It does not tell why, and says nothing
--   of a teacher. Near full marks hardly anybody can grow, and a line does not know that.
-- Source: marts.grade_student_semester, core.fct_grade, core.dim_semester.
with {{ grades_with_groups() }},

thresholds as (
    select school_id, value as minimum_students
    from {{ ref('stg_grade_thresholds') }}
    where threshold = 'growth_minimum_students'
),

-- How far each course of a student is from the course's mean in the cohort.
courses as (
    select
        school_id,
        semester_id,
        student_id,
        score_percent - avg(score_percent) over (partition by school_id, semester_id, cohort_id, course) as deviation
    from grades
    where score_percent is not null
),

errors as (
    select
        school_id,
        semester_id,
        student_id,
        var_samp(deviation) / count(*) as rate_variance
    from courses
    group by school_id, semester_id, student_id
),

history as (
    select
        students.*,
        errors.rate_variance,
        count(*) over earlier as earlier_semesters,
        sum(students.score_sum) over earlier as earlier_score_sum,
        sum(students.full_score_sum) over earlier as earlier_full_score_sum,
        count(errors.rate_variance) over earlier as earlier_with_error,
        sum(cast(students.full_score_sum as double) ** 2 * errors.rate_variance) over earlier as earlier_error_sum
    from {{ ref('grade_student_semester') }} as students
    inner join {{ ref('dim_semester') }} as semesters
        on semesters.school_id = students.school_id
        and semesters.semester_id = students.semester_id
    left join errors
        on errors.school_id = students.school_id
        and errors.semester_id = students.semester_id
        and errors.student_id = students.student_id
    where students.rank_in_cohort is not null
    window earlier as (
        partition by students.school_id, students.student_id
        order by semesters.first_day, students.semester_id
        rows between unbounded preceding and 1 preceding
    )
),

rates as (
    select
        *,
        {{ percent('earlier_score_sum', 'earlier_full_score_sum') }} as earlier_score_rate,
        cast(score_rate as double) as rate,
        cast(earlier_score_rate as double) as earlier_rate,
        if(
            earlier_with_error = earlier_semesters,
            earlier_error_sum / nullif(cast(earlier_full_score_sum as double) ** 2, 0),
            null
        ) as earlier_rate_variance
    from history
    where earlier_semesters > 0
),

lines as (
    select
        school_id,
        semester_id,
        cohort_id,
        count(*) as growth_students,
        regr_slope(rate, earlier_rate) as slope,
        regr_intercept(rate, earlier_rate) as intercept
    from rates
    group by school_id, semester_id, cohort_id
),

grown as (
    select
        rates.*,
        lines.growth_students,
        lines.slope,
        case
            when lines.growth_students >= thresholds.minimum_students and not isnan(lines.slope)
                then lines.intercept + lines.slope * rates.earlier_rate
        end as expected_rate,
        rates.rate - expected_rate as growth
    from rates
    inner join lines
        on lines.school_id = rates.school_id
        and lines.semester_id = rates.semester_id
        and lines.cohort_id = rates.cohort_id
    left join thresholds
        on thresholds.school_id = rates.school_id
),

measured as (
    select
        *,
        -- Rates have four decimals, so that growth that differs by less is the same.
        cast(growth as decimal(18, 6)) as rounded_growth,
        sqrt(rate_variance + slope ** 2 * earlier_rate_variance) as growth_se,
        coalesce(1.959964 * growth_se, 0) as reach
    from grown
),

placed as (
    select
        *,
        {%- set in_cohort = 'partition by school_id, semester_id, cohort_id' %}
        rank() over ({{ in_cohort }} order by rounded_growth)
        - 1
        + 0.5 * count(*) over ({{ in_cohort }}, rounded_growth) as below,
        count(*) over ({{ in_cohort }} order by growth range between unbounded preceding and reach preceding) as below_low,
        count(*) over ({{ in_cohort }} order by growth range between unbounded preceding and reach following) as below_high,
        growth is not null and growth_se is not null as has_error
    from measured
),

percentiles as (
    select
        *,
        {{ percent('if(growth is not null, below, null)', 'growth_students', places=2) }} as growth_percentile,
        {{ percent('if(has_error, below_low, null)', 'growth_students', places=2) }} as growth_percentile_low,
        {{ percent('if(has_error, below_high, null)', 'growth_students', places=2) }} as growth_percentile_high
    from placed
)

select
    school_id,
    semester_id,
    school_name,
    semester_name,
    is_current,
    is_complete,
    student_id,
    student_number,
    student_name,
    admin_class_id,
    admin_class_name,
    cohort_id,
    cohort_name,
    population,
    score_rate,
    earlier_semesters,
    earlier_score_rate,
    growth_students,
    {{ rounded('expected_rate') }} as expected_score_rate,
    {{ rounded('growth') }} as growth,
    {{ rounded('if(has_error, growth_se, null)') }} as growth_se,
    growth_percentile,
    growth_percentile_low,
    growth_percentile_high,
    50 not between growth_percentile_low and growth_percentile_high as is_distinguishable
from percentiles
