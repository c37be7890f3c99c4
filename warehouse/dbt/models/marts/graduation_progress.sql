-- Grain: school, student with a transcript.
-- Rules: credits_earned: credits gained in the transcript's courses. credits_due: credits that should have been gained by
--     now, by the platform's should_gained_credit, else by the credits of the published courses (due_source).
--   progress_rate = 100 * credits_earned / credits_due. The interface does not say how many credits a graduation needs. So
--     the rate shows whether a student is on the way, and not how far the student still has to go.
--   waiting_courses: courses that are not published yet. Without the platform's figure, nothing is due for them.
--   platform_credits_earned: the transcript's own sum. It agrees with ours if both differ by no more than gpa_tolerance
--     (seeds.grade_thresholds).
-- Source: core.fct_transcript_course, raw.transcripts, core.dim_student.
with courses as (
    select * from {{ ref('fct_transcript_course') }} where student_id is not null
),

transcripts as (
    select
        transcripts.school_id,
        people.person_id as student_id,
        any_value(transcripts.platform_due_credits) as due,
        any_value(transcripts.platform_gained_credits) as earned
    from {{ ref('stg_transcripts') }} as transcripts
    inner join {{ ref('bridge_v1_person') }} as people
        on people.school_id = transcripts.school_id
        and people.v1_person_id = transcripts.v1_student_id
    group by transcripts.school_id, people.person_id
),

tolerances as (
    select school_id, value as tolerance
    from {{ ref('stg_grade_thresholds') }}
    where threshold = 'gpa_tolerance'
),

students as (
    select * from {{ ref('dim_student') }}
),

schools as (
    select * from {{ ref('dim_school') }}
),

sums as (
    select
        school_id,
        student_id,
        count(distinct semester_id) as semesters,
        count(*) as courses,
        count(*) filter (where not is_published) as waiting_courses,
        count(*) filter (where is_published and credit > 0 and gained_credit = 0) as uncredited_courses,
        sum(credit) as credits_attempted,
        if(count(credit) > 0, coalesce(sum(credit) filter (where is_published), 0), null) as credits_published,
        {{ gained_credits() }} as credits_earned
    from courses
    group by school_id, student_id
),

progress as (
    select
        sums.*,
        coalesce(transcripts.due, sums.credits_published) as credits_due,
        if(transcripts.due is not null, 'platform', 'courses') as due_source,
        transcripts.earned as platform_credits_earned
    from sums
    left join transcripts using (school_id, student_id)
)

select
    progress.school_id,
    schools.school_name,
    progress.student_id,
    students.student_number,
    students.student_name,
    students.is_deleted as has_left,
    students.cohort_id,
    students.cohort_name,
    progress.semesters,
    progress.courses,
    progress.waiting_courses,
    progress.uncredited_courses,
    cast(progress.credits_attempted as decimal(18, 6)) as credits_attempted,
    cast(progress.credits_due as decimal(18, 6)) as credits_due,
    progress.due_source,
    cast(progress.credits_earned as decimal(18, 6)) as credits_earned,
    cast(greatest(progress.credits_due - progress.credits_earned, 0) as decimal(18, 6)) as credits_missing,
    {{ percent('progress.credits_earned', 'progress.credits_due', places=2) }} as progress_rate,
    progress.platform_credits_earned,
    abs(progress.credits_earned - progress.platform_credits_earned) <= tolerances.tolerance as earned_agrees
from progress
left join tolerances
    on tolerances.school_id = progress.school_id
left join students
    on students.school_id = progress.school_id
    and students.student_id = progress.student_id
left join schools
    on schools.school_id = progress.school_id
