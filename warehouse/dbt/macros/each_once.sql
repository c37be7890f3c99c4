{#-
    The members of a list of objects, each once and in their order: a platform may list a person once for each
    role. id: the field that tells who it is, or what is there instead.
-#}
{% macro each_once(people, id='id', else_id='id') -%}
    list_filter(
        {{ people }},
        lambda person, place: coalesce(
            list_position(
                list_transform({{ people }}, lambda other: coalesce(other.{{ id }}, other.{{ else_id }})),
                coalesce(person.{{ id }}, person.{{ else_id }})
            ) = place,
            true
        )
    )
{%- endmacro %}
