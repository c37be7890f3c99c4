"""A district on Kubernetes: Dagster's own launcher makes a job of each run, so there are neither workers nor
a broker. What is secret is named here and kept in a Secret that the operator makes of an .env file."""

import os
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import yaml
from sqlalchemy.engine import make_url

from pipelines.district import programs
from pipelines.district.config import on_several_machines
from pipelines.instance import CONFIG, POSTGRES
from pipelines.settings import Settings
from warehouse.stores import is_remote

Manifest = dict[str, Any]

#: The roles: each is the name of its account and of its Secret, and the label `app` of its pods.
DAEMON, WEBSERVER, RUN = "campus-daemon", "campus-webserver", "campus-run"
ROLES = (DAEMON, WEBSERVER, RUN)
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
        *(_account(role, namespace) for role in ROLES),
        *_rights(DAEMON, namespace, ["create", "delete", "patch"]),
        *_rights(WEBSERVER, namespace, ["delete"]),
        *_network_policies(settings, namespace),
        _deployment(DAEMON, namespace, image, ["dagster-daemon", "run", *programs.DEFINITIONS], _volumes()),
        _deployment(
            WEBSERVER,
            namespace,
            image,
            # Inside its pod alone: `kubectl port-forward` and a login proxy in the same pod reach it.
            ["python", *programs.webserver_arguments("127.0.0.1", PORT, allow_launch=True)],
            # Its home is empty: it shows runs and assets, and no row about a child.
            [_EMPTY_HOME, *_volumes()[1:]],
        ),
        {
            **_named("v1", "Service", WEBSERVER, namespace),
            "spec": {"selector": {"app": WEBSERVER}, "ports": [{"port": PORT}]},
        },
    ]
    return yaml.safe_dump_all(documents, sort_keys=False)


def instance(settings: Settings, image: str, namespace: str) -> Manifest:
    """dagster.yaml of all pods."""
    launcher = {
        "module": "dagster_k8s",
        "class": "K8sRunLauncher",
        "config": {
            "service_account_name": RUN,
            "job_image": image,
            "job_namespace": namespace,
            "instance_config_map": INSTANCE,
            "dagster_home": DAGSTER_HOME,
            "env_secrets": [RUN],
            "labels": {"app": RUN},
            "env_vars": [f"{name}={value}" for name, value in _environment().items()],
            "volumes": _volumes(),
            "volume_mounts": _mounts(),
            "resources": RUN_RESOURCES,
            "security_context": _container_security(),
            "run_k8s_config": {
                "pod_spec_config": {"securityContext": _security(), "automountServiceAccountToken": False},
                "job_spec_config": {"ttlSecondsAfterFinished": KEEP_JOBS},
            },
        },
    }
    return CONFIG | POSTGRES | {"run_launcher": launcher} | on_several_machines(settings, CONFIG)


def _deployment(
    name: str, namespace: str, image: str, command: list[str], volumes: list[Manifest]
) -> Manifest:
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
        "envFrom": [{"secretRef": {"name": name}}],
        "volumeMounts": [*_mounts(), instance_mount],
        "resources": PROGRAM_RESOURCES,
        "securityContext": _container_security(),
    }
    pod = {
        "serviceAccountName": name,
        # Dagster's launcher asks Kubernetes about jobs, in the daemon and in the webserver.
        "automountServiceAccountToken": True,
        "securityContext": _security(),
        "containers": [container],
        "volumes": [*volumes, {"name": "instance", "configMap": {"name": INSTANCE}}],
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
        {"name": "tmp", "emptyDir": {}},
    ]


_EMPTY_HOME: Manifest = {"name": "home", "emptyDir": {}}


def _mounts() -> list[Manifest]:
    return [
        {"name": "home", "mountPath": HOME},
        {"name": "options", "mountPath": "/etc/campus"},
        {"name": "dagster", "mountPath": DAGSTER_HOME},
        {"name": "tmp", "mountPath": "/tmp"},
    ]


def _security() -> Manifest:
    """Of a pod, by the profile `restricted`."""
    return {
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _container_security() -> Manifest:
    """Of a container, by the profile `restricted`; that nothing is written but in volumes goes beyond it."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


def _account(role: str, namespace: str) -> Manifest:
    """An account without rights; pods say themselves whether they have its token."""
    return {**_named("v1", "ServiceAccount", role, namespace), "automountServiceAccountToken": False}


def _rights(role: str, namespace: str, verbs: list[str]) -> list[Manifest]:
    """Look at jobs and their pods, do this to jobs besides, and end the pods of a cancelled job."""
    look = ["get", "list", "watch"]
    rules = [
        {"apiGroups": ["batch"], "resources": ["jobs", "jobs/status"], "verbs": [*look, *verbs]},
        {"apiGroups": [""], "resources": ["pods", "pods/log", "pods/status", "events"], "verbs": look},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]},
    ]
    group = "rbac.authorization.k8s.io"
    return [
        {**_named(f"{group}/v1", "Role", role, namespace), "rules": rules},
        {
            **_named(f"{group}/v1", "RoleBinding", role, namespace),
            "roleRef": {"apiGroup": group, "kind": "Role", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": role, "namespace": namespace}],
        },
    ]


def _network_policies(settings: Settings, namespace: str) -> Iterable[Manifest]:
    """Nobody is let in, and each role out to what it needs; servers outside are known by their ports."""
    names, kubernetes = _egress([53], ["UDP", "TCP"]), {443, 6443}
    postgres = (
        make_url(settings.postgres_url.get_secret_value()).port if settings.postgres_url else None
    ) or 5432
    store = os.environ.get("AWS_ENDPOINT_URL", "") if is_remote(settings.lake_root) else ""
    platform = {_port_of(settings.base_url or ""), _port_of(store)}
    notices = {_port_of(settings.notify_url.get_secret_value() if settings.notify_url else "")}
    if settings.options.notify.mail:
        notices.add(settings.options.notify.mail.port)
    yield _policy("campus-deny-all", namespace, {}, ["Ingress", "Egress"])
    for role, ports in (
        (DAEMON, kubernetes | platform | notices | {postgres}),
        (WEBSERVER, kubernetes | {postgres}),
        (RUN, platform | {postgres}),
    ):
        yield _policy(role, namespace, {"app": role}, ["Egress"], egress=[names, _egress(sorted(ports))])


def _policy(name: str, namespace: str, pods: dict[str, str], types: list[str], **rules: Any) -> Manifest:
    return {
        **_named("networking.k8s.io/v1", "NetworkPolicy", name, namespace),
        "spec": {"podSelector": {"matchLabels": pods} if pods else {}, "policyTypes": types, **rules},
    }


def _egress(ports: list[int], protocols: Iterable[str] = ("TCP",)) -> Manifest:
    return {
        "ports": [{"port": port, "protocol": protocol} for port in ports for protocol in protocols],
    }


def _port_of(address: str) -> int:
    parts = urlsplit(address)
    return parts.port or (80 if parts.scheme == "http" else 443)


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
