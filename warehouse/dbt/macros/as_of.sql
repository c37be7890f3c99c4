{#-
    A table macro of DuckDB, core.<table>_as_of(moment): the rows of raw.<table> as they were known at a moment. It shows
    only schools whose past is known at that moment (core.known_since). The SQL names no database: the macro is stored
    in the file, and a copy of the file has another name.
        columns   columns of raw that it reads, with their types
        key       columns that identify a row, beside the school
        shown     SQL list of the columns that it shows
        ended     true: shows deleted rows too
        defaults  values for null parts of the key
    A row is known from its own time of sync to the time of the row that replaced it. one_row_a_key takes one row of two:
    a row that moved to another slice may be in both for a while, and a failed commit may store a row twice.
-#}
{% macro as_of(table, columns, key, shown, ended=false, defaults={}) -%}
    {%- set ours = {'_synced_at': 'timestamp', '_deleted_at': 'timestamp', '_extra': 'varchar'} -%}
    {%- set all = dict(columns, **ours) -%}
    create or replace macro core.{{ table }}_as_of(moment) as table (
        with past as (
            select
                _school_id,
                json_transform(row, '{
                    {%- for name in all %}"{{ name }}":"VARCHAR"{{ ',' if not loop.last }}{% endfor -%}
                }') as was
            from (
                select _school_id, row, known_from, max(known_to) as known_to
                from quality.past_rows
                where
                    resource = '{{ table }}'
                    and row is not null
                group by _school_id, slice, row, known_from
            ) as kept
            where
                known_from <= cast(moment as timestamp)
                and known_to > cast(moment as timestamp)
        ),

        versions as (
            select
                _school_id{% for name, type in all.items() %},
                {{ _value(name, type, defaults) }} as {{ name }}{% endfor %}
            from raw.{{ table }}
            where _synced_at <= cast(moment as timestamp)
            union all
            select
                _school_id{% for name, type in all.items() %},
                {{ _value('was.' ~ name, type, defaults) }} as {{ name }}{% endfor %}
            from past
        ),

        told as (
            select versions.*
            from versions
            semi join core.known_since as since
                on since.school_id = versions._school_id
                and since.resource = '{{ table }}'
                and since.known_since <= cast(moment as timestamp)
        ),

        {{ one_row_a_key('told', key, alive_only=not ended) }}

        select
            _school_id as school_id,
            {{ shown }},
            _synced_at as known_from
        from one_row_a_key
    )
{%- endmacro %}

{% macro _value(column, type, defaults) -%}
    {%- set default = defaults.get(column.split('.')[-1]) -%}
    {%- if default is not none %}coalesce({% endif -%}
    cast({{ column }} as {{ type }})
    {%- if default is not none %}, {{ default }}){% endif -%}
{%- endmacro %}

{% macro grades_as_of() -%}
    {%- set number = 'decimal(38, 18)' -%}
    {%- set columns = {
        'id': 'bigint', 'semester_id': 'bigint', 'source': 'varchar', 'source_id': 'bigint', 'owner_id': 'bigint',
        'name': 'varchar', 'csin': 'varchar', 'full_score': number, 'score': number, 'real_score': number,
        'suggest_score': number, 'gained_score': number, 'level': 'varchar', 'credit': number, 'gpa': number,
        'rank': 'bigint', 'rank_base': 'bigint', 'status': 'varchar', 'pass_status': 'varchar',
        'published_at': 'timestamp', 'review': 'varchar', 'updated_at': 'timestamp'
    } -%}
    {{ return(as_of('grades', columns, ['id'], "
            id as grade_id,
            semester_id,
            source,
            source_id,
            owner_id as student_id,
            name as course_name,
            csin as class_code,
            " ~ measure('full_score') ~ " as full_score,
            " ~ measure('score') ~ " as score,
            " ~ word('score') ~ " as score_text,
            " ~ measure('suggest_score') ~ " as suggest_score,
            case when score_text is null then coalesce(" ~ measure('score') ~ ", " ~ measure('suggest_score') ~ ") end
                as real_score,
            " ~ measure('real_score') ~ " as platform_real_score,
            " ~ measure('gained_score') ~ " as gained_score,
            level,
            " ~ measure('credit') ~ " as credit,
            " ~ measure('gpa') ~ " as platform_grade_points,
            rank,
            rank_base,
            status,
            pass_status,
            published_at,
            review,
            updated_at")) }}
{%- endmacro %}

{% macro scores_as_of() -%}
    {%- set number = 'decimal(38, 18)' -%}
    {%- set columns = {
        'id': 'bigint', 'assessment_id': 'bigint', 'item_id': 'bigint', 'type': 'varchar', 'owner_id': 'bigint',
        'evaluator_id': 'bigint', 'valid': 'boolean', 'invalid_reason': 'varchar', 'score': number,
        'gained_score': number, 'tag': 'varchar', 'review': 'varchar', 'self_review': 'varchar', 'rank': 'bigint',
        'rank_base': 'bigint', 'status': 'varchar', 'published_at': 'timestamp', 'created_at': 'timestamp',
        'updated_at': 'timestamp'
    } -%}
    {{ return(as_of('scores', columns, ['id'], "
            id as score_id,
            assessment_id,
            item_id as assessment_item_id,
            type as score_type,
            owner_id as student_id,
            evaluator_id,
            coalesce(valid, true) as is_valid,
            invalid_reason,
            " ~ measure('score') ~ " as score,
            " ~ word('score') ~ " as score_text,
            " ~ measure('gained_score') ~ " as gained_score,
            tag,
            review,
            self_review,
            rank,
            rank_base,
            status,
            published_at,
            created_at,
            updated_at")) }}
{%- endmacro %}

{% macro attendance_records_as_of() -%}
    {%- set columns = {
        'id': 'bigint', 'class_id': 'bigint', 'student_id': 'bigint', 'usin': 'varchar', 'checked_at': 'date',
        'lesson': 'bigint', 'status': 'varchar', 'absence_label': 'varchar', 'created_date': 'date',
        'created_time': 'varchar'
    } -%}
    {{ return(as_of('attendance_records', columns, ['id'], attendance_record_columns())) }}
{%- endmacro %}

{% macro class_members_as_of() -%}
    {%- set columns = {
        'class_id': 'bigint', 'type': 'varchar', 'reflection_id': 'bigint', 'membership': 'bigint',
        'class_together': 'boolean', 'deleted_at': 'timestamp', 'created_at': 'timestamp', 'updated_at': 'timestamp'
    } -%}
    {{ return(as_of(
        'class_members', columns, ['class_id', 'type', 'reflection_id', 'membership'], class_member_columns(),
        ended=true, defaults={'membership': 1})) }}
{%- endmacro %}
