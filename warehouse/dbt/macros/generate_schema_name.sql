{#- Schemas are named as the public surface names them, with no prefix of the target's. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ custom_schema_name or target.schema }}
{%- endmacro %}
