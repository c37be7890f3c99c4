"""A district on Kubernetes: Dagster's own launcher makes a job of each run, so there are neither workers nor
a broker. What is secret is named here and kept in a Secret that the operator makes of an .env file."""

from typing import Any

import yaml

from pipelines.district import programs
from pipelines.district.config import on_several_machines
from pipelines.instance import CONFIG, POSTGRES
from pipelines.settings import Settings

Manifest = dict[str, Any]

#: The Secret with the settings of .env, and the account of all pods.
SECRET, ACCOUNT = "campus", "campus"
INSTANCE, OPTIONS, HOME_CLAIM = "campus-instance", "campus-options", "campus-home"
HOME, DAGSTER_HOME = "/srv/campus", "/srv/dagster"
#: The user of deploy/Containerfile.
USER = 10001
#: What a run may take, and a program that is always there.
RUN_RESOURCES = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "5Gi"}}
PROGRAM_RESOURCES = {"requests": {"cpu": "250m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
#: Seconds for which Kubernetes keeps a job that has ended; its events are in Postgres.
KEEP_JOBS = 86_400
PORT = 3000


def manifests(settings: Settings, image: str, namespace: str, room: str) -> str:
    """The documents that `kubectl apply` takes, with the options of campus.yaml. room: of the shared home."""
    documents = [
        _config_map(INSTANCE, namespace, "dagster.yaml", instance(settings, image, namespace)),
        _config_map(OPTIONS, namespace, "campus.yaml", settings.options.model_dump(mode="json")),
        _claim(namespace, room),
        *_account(namespace),
        _deployment("campus-daemon", namespace, image, ["dagster-daemon", "run", *programs.DEFINITIONS]),
        _deployment(
            "campus-webserver",
            namespace,
            image,
            # Inside its pod alone: `kubectl port-forward` and a login proxy in the same pod reach it.
            ["python", *programs.webserver_arguments("127.0.0.1", PORT, allow_launch=True)],
        ),
        {
            **_named("v1", "Service", "campus-webserver", namespace),
            "spec": {"selector": {"app": "campus-webserver"}, "ports": [{"port": PORT}]},
        },
    ]
    return yaml.safe_dump_all(documents, sort_keys=False)


def instance(settings: Settings, image: str, namespace: str) -> Manifest:
    """dagster.yaml of all pods."""
    launcher = {
        "module": "dagster_k8s",
        "class": "K8sRunLauncher",
        "config": {
            "service_account_name": ACCOUNT,
            "job_image": image,
            "job_namespace": namespace,
            "instance_config_map": INSTANCE,
            "dagster_home": DAGSTER_HOME,
            "env_secrets": [SECRET],
            "env_vars": [f"{name}={value}" for name, value in _environment().items()],
            "volumes": _volumes(),
            "volume_mounts": _mounts(),
            "resources": RUN_RESOURCES,
            "security_context": {"allowPrivilegeEscalation": False},
            "run_k8s_config": {
                "pod_spec_config": {"securityContext": _security()},
                "job_spec_config": {"ttlSecondsAfterFinished": KEEP_JOBS},
            },
        },
    }
    return CONFIG | POSTGRES | {"run_launcher": launcher} | on_several_machines(settings, CONFIG)


def _deployment(name: str, namespace: str, image: str, command: list[str]) -> Manifest:
    """A program that runs once, and never beside the one that takes its place."""
    # As the launcher mounts it for a run.
    instance_mount = {
        "name": "instance",
        "mountPath": f"{DAGSTER_HOME}/dagster.yaml",
        "subPath": "dagster.yaml",
    }
    container = {
        "name": "campus",
        "image": image,
        "command": command,
        "env": [
            {"name": each, "value": value}
            for each, value in {**_environment(), "DAGSTER_HOME": DAGSTER_HOME}.items()
        ],
        "envFrom": [{"secretRef": {"name": SECRET}}],
        "volumeMounts": [*_mounts(), instance_mount],
        "resources": PROGRAM_RESOURCES,
        "securityContext": {"allowPrivilegeEscalation": False},
    }
    volumes = [*_volumes(), {"name": "instance", "configMap": {"name": INSTANCE}}]
    pod = {
        "serviceAccountName": ACCOUNT,
        "securityContext": _security(),
        "containers": [container],
        "volumes": volumes,
    }
    return {
        **_named("apps/v1", "Deployment", name, namespace),
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
        },
    }


def _environment() -> dict[str, str]:
    return {"CAMPUS_HOME": HOME, "CAMPUS_CONFIG": "/etc/campus/campus.yaml"}


def _volumes() -> list[Manifest]:
    return [
        {"name": "home", "persistentVolumeClaim": {"claimName": HOME_CLAIM}},
        {"name": "options", "configMap": {"name": OPTIONS}},
        {"name": "dagster", "emptyDir": {}},
    ]


def _mounts() -> list[Manifest]:
    return [
        {"name": "home", "mountPath": HOME},
        {"name": "options", "mountPath": "/etc/campus"},
        {"name": "dagster", "mountPath": DAGSTER_HOME},
    ]


def _security() -> Manifest:
    return {"runAsUser": USER, "runAsGroup": USER, "fsGroup": USER, "runAsNonRoot": True}


def _account(namespace: str) -> list[Manifest]:
    """Who may make jobs, and look at their pods: Dagster's launcher."""
    verbs = ["get", "list", "watch", "create", "delete", "patch"]
    rules = [
        {"apiGroups": ["batch"], "resources": ["jobs", "jobs/status"], "verbs": verbs},
        {"apiGroups": [""], "resources": ["pods", "pods/log", "pods/status", "events"], "verbs": verbs[:3]},
    ]
    group = "rbac.authorization.k8s.io"
    return [
        _named("v1", "ServiceAccount", ACCOUNT, namespace),
        {**_named(f"{group}/v1", "Role", ACCOUNT, namespace), "rules": rules},
        {
            **_named(f"{group}/v1", "RoleBinding", ACCOUNT, namespace),
            "roleRef": {"apiGroup": group, "kind": "Role", "name": ACCOUNT},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}],
        },
    ]


def _claim(namespace: str, room: str) -> Manifest:
    """The home, which pods on several machines write in."""
    return {
        **_named("v1", "PersistentVolumeClaim", HOME_CLAIM, namespace),
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": room}}},
    }


def _config_map(name: str, namespace: str, file: str, content: Manifest) -> Manifest:
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return {**_named("v1", "ConfigMap", name, namespace), "data": {file: text}}


def _named(version: str, kind: str, name: str, namespace: str) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}
