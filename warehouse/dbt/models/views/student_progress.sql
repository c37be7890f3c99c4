-- Grain: school, student: as graduation_progress.
select
    school_id,
    student_id,
    courses,
    credits_attempted,
    credits_due,
    credits_earned,
    credits_missing,
    progress_rate
from {{ ref('graduation_progress') }}
