-- Grain: school, semester, student: every student with a class grade in the semester.
-- Rules: rates come from sums, and the sums are columns. Only grades of source `class` whose status counts
--   (seeds.grade_status_rules) are in the sums. By default pending ones are, so that a running semester can be
--   followed: everything is provisional while pending_courses > 0, but for gained_credits, which has none.
--   score_rate = 100 * points / full score over the scored courses.
--   weighted_mean = mean of the courses' percentages, weighted by credit (seeds.grade_thresholds:
--     weight_without_credit).
--   gpa = sum(grade points * credit) / sum(credit), over courses with both; gpa_source says whose points they
--     are.
--   Ranks are min-ranks by weighted_mean as shown, 1 the best, within the administrative class
--     (bridge_student_admin_class) and within the cohort; percent_rank = (rank - 1) / (n - 1), 0 the best,
--     null for n = 1. z_score_in_cohort: how far weighted_mean is from the mean of the cohort's, in standard
--     deviations (sample's, n - 1); null where these are 0.
-- Source: core.fct_grade and dimensions.
with grades as (
    select *
    from {{ ref('fct_grade') }}
    where
        source = 'class'
        and semester_id is not null
        and student_id is not null
),

students as (
    select * from {{ ref('dim_student') }}
),

semesters as (
    select * from {{ ref('dim_semester') }}
),

admin_classes as (
    select * from {{ ref('dim_admin_class') }}
),

student_classes as (
    select * from {{ ref('bridge_student_admin_class') }}
),

sums as (
    select
        school_id,
        semester_id,
        student_id,
        count(*) as courses,
        count(*) filter (where counts_in_statistics) as counted_courses,
        count(score_percent) filter (where counts_in_statistics) as scored_courses,
        count(*) filter (where status = 'pending') as pending_courses,
        count(*) filter (where counts_in_statistics and is_passed) as passed_courses,
        count(*) filter (where counts_in_statistics and not is_passed) as failed_courses,
        count(*) filter (where counts_in_statistics and is_passed is null) as undecided_courses,
        sum(real_score) filter (where counts_in_statistics and score_percent is not null) as score_sum,
        sum(full_score) filter (where counts_in_statistics and score_percent is not null) as full_score_sum,
        sum(score_percent * weight) filter (where counts_in_statistics) as weighted_percent_sum,
        sum(weight) filter (where counts_in_statistics and score_percent is not null) as weight_sum,
        sum(credit) as credits,
        sum(if(counts_in_statistics and is_passed and status is distinct from 'pending', credit, 0))
            filter (where credit is not null) as gained_credits,
        sum(grade_points * credit) filter (where counts_in_statistics) as grade_points_sum,
        sum(credit) filter (where counts_in_statistics and grade_points is not null) as gpa_credits,
        min(grade_points_source) filter (where counts_in_statistics and credit > 0) as first_gpa_source,
        max(grade_points_source) filter (where counts_in_statistics and credit > 0) as last_gpa_source
    from grades
    group by school_id, semester_id, student_id
),

rates as (
    select
        sums.*,
        students.student_number,
        students.student_name,
        students.cohort_id,
        students.cohort_name,
        student_classes.admin_class_id,
        try_cast({{ percent('score_sum', 'full_score_sum') }} as decimal(9, 4)) as score_rate,
        try_cast(weighted_percent_sum / nullif(weight_sum, 0) as decimal(9, 4)) as weighted_mean,
        try_cast(grade_points_sum / nullif(gpa_credits, 0) as decimal(9, 4)) as gpa
    from sums
    left join students
        on students.school_id = sums.school_id
        and students.student_id = sums.student_id
    left join student_classes
        on student_classes.school_id = sums.school_id
        and student_classes.semester_id = sums.semester_id
        and student_classes.student_id = sums.student_id
),

ranks as (
    select
        *,
        rank() over (in_class order by weighted_mean desc nulls last) as rank_in_class,
        count(weighted_mean) over in_class as class_size,
        rank() over (in_cohort order by weighted_mean desc nulls last) as rank_in_cohort,
        count(weighted_mean) over in_cohort as cohort_size,
        (weighted_mean - avg(weighted_mean) over in_cohort)
            / nullif(stddev_samp(weighted_mean) over in_cohort, 0) as z_score_in_cohort
    from rates
    window
        in_class as (partition by school_id, semester_id, admin_class_id),
        in_cohort as (partition by school_id, semester_id, cohort_id)
),

ranked as (
    select
        * replace (
            case
                when weighted_mean is not null and admin_class_id is not null then rank_in_class
            end as rank_in_class,
            case when admin_class_id is not null then class_size end as class_size,
            case
                when weighted_mean is not null and cohort_id is not null then rank_in_cohort
            end as rank_in_cohort,
            case when cohort_id is not null then cohort_size end as cohort_size,
            case when cohort_id is not null then z_score_in_cohort end as z_score_in_cohort
        )
    from ranks
)

select
    ranked.school_id,
    ranked.semester_id,
    semesters.semester_name,
    ranked.student_id,
    ranked.student_number,
    ranked.student_name,
    ranked.admin_class_id,
    admin_classes.admin_class_name,
    ranked.cohort_id,
    ranked.cohort_name,
    ranked.courses,
    ranked.counted_courses,
    ranked.scored_courses,
    ranked.pending_courses,
    ranked.passed_courses,
    ranked.failed_courses,
    ranked.undecided_courses,
    ranked.score_sum,
    ranked.full_score_sum,
    ranked.score_rate,
    ranked.weighted_percent_sum,
    ranked.weight_sum,
    ranked.weighted_mean,
    ranked.credits,
    ranked.gained_credits,
    ranked.grade_points_sum,
    ranked.gpa_credits,
    ranked.gpa,
    case
        when ranked.first_gpa_source < ranked.last_gpa_source
            then ranked.first_gpa_source || ' and ' || ranked.last_gpa_source
        else ranked.first_gpa_source
    end as gpa_source,
    ranked.rank_in_class,
    ranked.class_size,
    (ranked.rank_in_class - 1) / nullif(ranked.class_size - 1, 0) as percent_rank_in_class,
    ranked.rank_in_cohort,
    ranked.cohort_size,
    (ranked.rank_in_cohort - 1) / nullif(ranked.cohort_size - 1, 0) as percent_rank_in_cohort,
    try_cast(ranked.z_score_in_cohort as decimal(9, 4)) as z_score_in_cohort
from ranked
left join semesters
    on semesters.school_id = ranked.school_id
    and semesters.semester_id = ranked.semester_id
left join admin_classes
    on admin_classes.school_id = ranked.school_id
    and admin_classes.admin_class_id = ranked.admin_class_id
