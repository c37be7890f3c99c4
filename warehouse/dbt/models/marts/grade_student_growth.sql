-- Grain: school, semester, student who is ranked in the cohort (marts.grade_student_semester) in the semester and in an
--   earlier one.
-- Rules: growth is the student's score rate beside those of the cohort who knew as much before. The formulas are in the
--   descriptions of the columns. A semester that is not over has pending grades: its growth is provisional.
-- Known: growth is relative: half of a cohort is below 50, however well it learns. It does not tell why, and says nothing
--   of a teacher. Near full marks hardly anybody can grow, and a line does not know that.
--   A course in which a student is always better counts as chance, so that the error is rather too great.
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
        cohort_id,
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
        count(*) as course_count,
        var_samp(deviation) / count(*) as rate_variance,
        -- By the usual spread of a student of the cohort.
        avg(var_samp(deviation)) over (partition by school_id, semester_id, cohort_id) / course_count as usual_variance,
        usual_variance ** 2 / nullif(course_count - 1, 0) as usual_square
    from courses
    group by school_id, semester_id, cohort_id, student_id
),

history as (
    select
        students.*,
        errors.rate_variance,
        errors.usual_variance,
        errors.usual_square,
        count(*) over earlier as earlier_semesters,
        sum(students.score_sum) over earlier as earlier_score_sum,
        sum(students.full_score_sum) over earlier as earlier_full_score_sum,
        count(errors.rate_variance) over earlier as earlier_with_error,
        {%- for variance, power in [('rate_variance', 2), ('usual_variance', 2), ('usual_square', 4)] %}
        sum(cast(students.full_score_sum as double) ** {{ power }} * errors.{{ variance }}) over earlier as earlier_{{ variance }}_sum{{ ',' if not loop.last }}
        {%- endfor %}
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
        {%- for variance, power in [('rate_variance', 2), ('usual_variance', 2), ('usual_square', 4)] %}
        if(
            earlier_with_error = earlier_semesters,
            earlier_{{ variance }}_sum / nullif(cast(earlier_full_score_sum as double) ** {{ power }}, 0),
            null
        ) as earlier_{{ variance }}{{ ',' if not loop.last }}
        {%- endfor %}
    from history
    where earlier_semesters > 0
),

-- Chance in the earlier rates makes the slope of a regression too flat, by their reliability.
lines as (
    select
        school_id,
        semester_id,
        cohort_id,
        count(*) as growth_students,
        1 - avg(earlier_rate_variance) / nullif(var_samp(earlier_rate), 0) as reliability,
        case when reliability >= 0.5 then regr_slope(rate, earlier_rate) / reliability end as slope,
        avg(rate) - slope * avg(earlier_rate) as intercept
    from rates
    group by school_id, semester_id, cohort_id
),

grown as (
    select
        rates.*,
        lines.growth_students,
        lines.reliability,
        lines.slope,
        case
            when lines.growth_students >= thresholds.minimum_students
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
        (usual_variance + slope ** 2 * earlier_usual_variance) ** 2
            / nullif(usual_square + slope ** 4 * earlier_usual_square, 0) as degrees_of_freedom,
        coalesce({{ t_quantile('degrees_of_freedom') }} * growth_se, 0) as reach,
        case when growth_se > 0 then {{ t_as_normal('(growth / growth_se)', 'degrees_of_freedom') }} end as deviate
    from grown
),

judged as (
    select *, {{ normal_p_value('deviate') }} as p_value
    from measured
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
        growth is not null and growth_se is not null as has_error,
        p_value * count(p_value) over ({{ in_cohort }}) / nullif(count(p_value) over ({{ in_cohort }} order by p_value), 0) as share_false
    from judged
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
    {{ rounded('reliability') }} as earlier_reliability,
    {{ rounded('growth') }} as growth,
    {{ rounded('if(has_error, growth_se, null)') }} as growth_se,
    growth_percentile,
    growth_percentile_low,
    growth_percentile_high,
    -- By the method of Benjamini and Hochberg.
    case
        when p_value is not null
            then {{ rounded('min(share_false) over (partition by school_id, semester_id, cohort_id order by p_value desc)', places=6) }}
    end as p_value_adjusted,
    p_value_adjusted <= 0.05 as is_distinguishable
from percentiles
