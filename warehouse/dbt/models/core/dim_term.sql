-- Grain: school, term: one word of a vocabulary (cohort, academic year, semester category, subject, domain).
-- Rules: the caption is the label, else the name. Terms removed from the platform stay (is_deleted).
-- Source: raw.terms.
select
    school_id,
    term_id,
    term_type,
    term_name,
    term_label,
    coalesce(term_label, term_name) as term_caption,
    parent_term_id,
    description,
    weight,
    archived_at,
    archived_at is not null as is_archived,
    is_deleted,
    deleted_at
from {{ ref('stg_terms') }}
