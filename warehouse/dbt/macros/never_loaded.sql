{#-
    The value, or null if any of these resources was never loaded for the semester: unknown is not zero. `semesters`: the
    alias of dim_semester.
-#}
{% macro if_loaded(resources, value, semesters='semesters') -%}
    case when not coalesce(list_has_any({{ semesters }}.never_loaded, {{ resources }}), false) then {{ value }} end
{%- endmacro %}

{#- The resources that models read, by their slices: by school, by semester of v3, by semester of v1. -#}
{% macro model_resources() -%}
    {{ return({
        'school': [
            'admin_classes', 'attendance_settings', 'reflections', 'structures', 'students', 'teachers', 'terms',
            'transcript_courses', 'transcript_semesters', 'transcripts', 'user_fields', 'v1_admin_classes', 'v1_users'
        ],
        'semester': ['assessment_items', 'assessments', 'class_members', 'classes', 'grades', 'scores'],
        'v1_semester': [
            'attendance_records', 'attendance_sessions', 'timetable_days', 'timetable_lessons', 'v1_class_students',
            'v1_classes'
        ]
    }) }}
{%- endmacro %}

{#- The value, or null if all of these resources were never loaded. Any one of them is enough for the value. -#}
{% macro if_any_loaded(resources, value, semesters='semesters') -%}
    case when not coalesce(list_has_all({{ semesters }}.never_loaded, {{ resources }}), false) then {{ value }} end
{%- endmacro %}

{#- The value, or null if students were never loaded, or members of classes were loaded from neither interface. -#}
{% macro if_members_loaded(value, semesters='semesters') -%}
    {{ if_loaded(['students'], if_any_loaded(['class_members', 'v1_class_students'], value, semesters), semesters) }}
{%- endmacro %}

{#-
    True if a student had left (core.semester_leaver). Null, not known: students were never loaded, or the student has
    left by now and memberships, which say when, were never loaded.
-#}
{% macro has_left(semesters='semesters') -%}
    case
        when leavers.student_id is not null then true
        when list_contains({{ semesters }}.never_loaded, 'students') then null
        when students.is_deleted and list_contains({{ semesters }}.never_loaded, 'class_members') then null
        else false
    end
{%- endmacro %}
