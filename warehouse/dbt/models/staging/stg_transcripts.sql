-- Grain: school, student of the v1 interface. Live rows only. The figures are the platform's own, over all semesters.
select
    _school_id as school_id,
    student_id as v1_student_id,
    {{ measure('grade_point_average') }} as platform_gpa,
    {{ measure('average_score') }} as platform_average_score,
    {{ measure('total_credit') }} as platform_credits,
    {{ measure('gained_credit') }} as platform_gained_credits,
    {{ measure('should_gained_credit') }} as platform_due_credits
from {{ source('raw', 'transcripts') }}
where _deleted_at is null
