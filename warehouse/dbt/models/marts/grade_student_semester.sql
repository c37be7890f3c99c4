-- Grain: school, semester, student with a class grade in the semester.
-- Rules: sums take grades of source `class` whose status counts (seeds.grade_status_rules). Only courses, credits and
--     pending_courses take all grades of this source. Rates come from sums, and the sums are columns.
--   pending_courses: pending grades count by default, so that a running semester can be followed. While there are any,
--     every figure is provisional except gained_credits, which leaves them out. pending_failed_courses: failed courses
--     with a provisional verdict.
--   begun_percent = 100 * full score of the items with any score / full score of all items, over the counted courses
--     (core.fct_assessment_item). It shows how much of the grades' basis has begun. Null if scores or items were
--     never loaded.
--   score_rate = 100 * points / full score over the scored courses.
--   weighted_mean: mean of the courses' percentages; gpa: mean of their grade points. Both are weighted by
--     core.fct_grade.weight: the course's credit, failed or not, else weight_without_credit (seeds.grade_thresholds).
--     courses_without_credit counts the latter. gpa_source: source of the grade points.
--   transcript_gpa: the platform's own, of the transcript. gpa_difference = gpa - transcript_gpa, once no course is
--     pending, since a transcript has only published courses. is_near_transcript: both differ by no more than
--     gpa_difference (seeds.grade_thresholds). Null: nothing to compare.
--   Ranks:
--     Only current students are ranked (population): they stayed to the last day of the semester, or until now. A
--       student who has left (has_left, core.semester_leaver) has no rank and no z score, and counts in no size.
--     A student with few courses is not ranked either: scored_courses must be at least rank_minimum_course_percent
--       (seeds.grade_thresholds) of usual_courses.
--     usual_courses: the median number of scored courses of the cohort's current students with a score, the lower of
--       two. Students without a cohort form a group of their own.
--     Ranks, sizes and usual_courses are null in a cohort if it is not known who has left (has_left).
--     Ranks are min-ranks by weighted_mean as shown, 1 is the best, within the administrative class
--       (bridge_student_admin_class) and within the cohort.
--     percent_rank = (rank - 1) / (n - 1), 0 is the best; null for n = 1.
--     z_score_in_cohort: (weighted_mean - mean of the ranked students) / their sample standard deviation (n - 1); null
--       if that is 0.
-- Source: core.fct_grade, core.fct_assessment_item, raw.transcript_semesters and dimensions.
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

leavers as (
    select * from {{ ref('semester_leaver') }}
),

grade_levels as (
    select * from {{ ref('cohort_grade_level') }}
),

student_classes as (
    select * from {{ ref('bridge_student_admin_class') }}
),

thresholds as (
    select
        school_id,
        max(value) filter (where threshold = 'gpa_difference') as near,
        max(value) filter (where threshold = 'rank_minimum_course_percent') as rank_minimum
    from {{ ref('stg_grade_thresholds') }}
    group by school_id
),

transcripts as (
    select
        semesters.school_id,
        semesters.semester_id,
        people.person_id as student_id,
        any_value(semesters.platform_gpa) as platform_gpa
    from {{ ref('stg_transcript_semesters') }} as semesters
    inner join {{ ref('bridge_v1_person') }} as people
        on people.school_id = semesters.school_id
        and people.v1_person_id = semesters.v1_student_id
    group by semesters.school_id, semesters.semester_id, people.person_id
),

points as (
    select
        school_id,
        assessment_id,
        sum(full_score) as item_points,
        coalesce(sum(full_score) filter (where is_begun), 0) as begun_points
    from {{ ref('fct_assessment_item') }}
    group by school_id, assessment_id
),

sums as (
    select
        grades.school_id,
        grades.semester_id,
        grades.student_id,
        count(*) as courses,
        {{ course_sums() }},
        count(*) filter (where counts_in_statistics and is_passed) as passed_courses,
        count(*) filter (where counts_in_statistics and is_passed is null) as undecided_courses,
        sum(credit) as credits,
        sum(if(counts_in_statistics and is_passed and status is distinct from 'pending', credit, 0))
            filter (where credit is not null) as gained_credits,
        count(*) filter (where counts_in_statistics and credit_source = 'none') as courses_without_credit,
        sum(grade_points * weight) filter (where counts_in_statistics) as grade_points_sum,
        sum(weight) filter (where counts_in_statistics and grade_points is not null) as gpa_credits,
        min(grade_points_source) filter (where counts_in_statistics and weight > 0) as first_gpa_source,
        max(grade_points_source) filter (where counts_in_statistics and weight > 0) as last_gpa_source
    from grades
    left join points
        on points.school_id = grades.school_id
        and points.assessment_id = grades.assessment_id
    group by grades.school_id, grades.semester_id, grades.student_id
),

rates as (
    select
        sums.*,
        students.student_number,
        students.student_name,
        students.cohort_id,
        students.cohort_name,
        student_classes.admin_class_id,
        student_classes.is_inferred as admin_class_is_inferred,
        {{ percent('score_sum', 'full_score_sum') }} as score_rate,
        {{ ratio('weighted_percent_sum', 'weight_sum') }} as weighted_mean,
        {{ has_left() }} as has_left,
        bool_and(has_left is not null) over in_cohort as is_cohort_known,
        case
            when is_cohort_known
                then quantile_disc(if(has_left, null, nullif(sums.scored_courses, 0)), 0.5) over in_cohort
        end as usual_courses,
        case
            when not has_left and 100 * sums.scored_courses >= coalesce(thresholds.rank_minimum, 0) * usual_courses
                then weighted_mean
        end as ranked_mean,
        {{ ratio('grade_points_sum', 'gpa_credits') }} as gpa
    from sums
    left join students
        on students.school_id = sums.school_id
        and students.student_id = sums.student_id
    left join student_classes
        on student_classes.school_id = sums.school_id
        and student_classes.semester_id = sums.semester_id
        and student_classes.student_id = sums.student_id
    left join leavers
        on leavers.school_id = sums.school_id
        and leavers.semester_id = sums.semester_id
        and leavers.student_id = sums.student_id
    left join semesters
        on semesters.school_id = sums.school_id
        and semesters.semester_id = sums.semester_id
    left join thresholds
        on thresholds.school_id = sums.school_id
    window in_cohort as (partition by sums.school_id, sums.semester_id, students.cohort_id)
),

ranks as (
    select
        *,
        rank() over (in_class order by ranked_mean desc nulls last) as rank_in_class,
        count(ranked_mean) over in_class as class_size,
        rank() over (in_cohort order by ranked_mean desc nulls last) as rank_in_cohort,
        count(ranked_mean) over in_cohort as cohort_size,
        sum(ranked_mean) over in_cohort as cohort_sum,
        sum(ranked_mean * ranked_mean) over in_cohort as cohort_square_sum
    from rates
    window
        in_class as (partition by school_id, semester_id, admin_class_id),
        in_cohort as (partition by school_id, semester_id, cohort_id)
),

ranked as (
    select
        * replace (
            case
                when ranked_mean is not null and admin_class_id is not null then rank_in_class
            end as rank_in_class,
            case when admin_class_id is not null and is_cohort_known then class_size end as class_size,
            case
                when ranked_mean is not null and cohort_id is not null then rank_in_cohort
            end as rank_in_cohort,
            case when cohort_id is not null and is_cohort_known then cohort_size end as cohort_size
        ),
        case when cohort_id is not null then {{ z_score('ranked_mean', 'cohort_size', 'cohort_sum', 'cohort_square_sum') }} end
            as z_score_in_cohort
    from ranks
)

select
    ranked.school_id,
    ranked.semester_id,
    {{ semester_names() }},
    coalesce(semesters.is_over, false) as is_complete,
    ranked.student_id,
    ranked.student_number,
    ranked.student_name,
    ranked.has_left,
    ranked.admin_class_id,
    admin_classes.admin_class_name,
    ranked.admin_class_is_inferred,
    ranked.cohort_id,
    ranked.cohort_name,
    grade_levels.grade_level,
    ranked.courses,
    ranked.counted_courses,
    ranked.scored_courses,
    ranked.pending_courses,
    ranked.passed_courses,
    ranked.failed_courses,
    ranked.pending_failed_courses,
    ranked.undecided_courses,
    {{ if_loaded(['scores', 'assessment_items'], percent('ranked.begun_points', 'ranked.item_points', places=2)) }} as begun_percent,
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
    ranked.courses_without_credit,
    transcripts.platform_gpa as transcript_gpa,
    case
        when ranked.pending_courses = 0 then try_cast(ranked.gpa - transcripts.platform_gpa as decimal(9, 4))
    end as gpa_difference,
    abs(gpa_difference) <= thresholds.near as is_near_transcript,
    'current' as population,
    ranked.usual_courses,
    ranked.rank_in_class,
    ranked.class_size,
    (ranked.rank_in_class - 1) / nullif(ranked.class_size - 1, 0) as percent_rank_in_class,
    ranked.rank_in_cohort,
    ranked.cohort_size,
    (ranked.rank_in_cohort - 1) / nullif(ranked.cohort_size - 1, 0) as percent_rank_in_cohort,
    ranked.z_score_in_cohort
from ranked
left join semesters
    on semesters.school_id = ranked.school_id
    and semesters.semester_id = ranked.semester_id
left join grade_levels
    on grade_levels.school_id = ranked.school_id
    and grade_levels.semester_id = ranked.semester_id
    and grade_levels.cohort_id = ranked.cohort_id
left join admin_classes
    on admin_classes.school_id = ranked.school_id
    and admin_classes.admin_class_id = ranked.admin_class_id
left join transcripts
    on transcripts.school_id = ranked.school_id
    and transcripts.semester_id = ranked.semester_id
    and transcripts.student_id = ranked.student_id
left join thresholds
    on thresholds.school_id = ranked.school_id
