-- Grain: school, verdict on the discrimination of an item.
select
    school_id,
    label,
    {{ number_text('lower_correlation') }} as lower,
    {{ number_text('upper_correlation') }} as upper,
    -lower_correlation as best_first
from {{ ref('stg_discrimination_labels') }}
