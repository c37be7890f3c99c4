"""The manifests of a district on Kubernetes. They name the Secrets, which the operator makes."""

import yaml

from pipelines.district import programs
from pipelines.district.kubernetes import pods
from pipelines.district.kubernetes.instance import instance
from pipelines.district.kubernetes.network import Networks, named, network_policies
from pipelines.district.kubernetes.pods import (
    DAEMON,
    DAGSTER_HOME,
    HOME_CLAIM,
    INSTANCE,
    OPTIONS,
    PORT,
    ROLES,
    WEBSERVER,
    Manifest,
    Storage,
)
from pipelines.settings.settings import Settings


def manifests(settings: Settings, image: str, namespace: str, storage: Storage, networks: Networks) -> str:
    """The manifests for `kubectl apply`, with the options of campus.yaml.

    Raises SettingsError for servers whose network is not known."""
    environment = pods.environment(settings)
    documents = [
        _config_map(INSTANCE, namespace, "dagster.yaml", instance(settings, image, namespace, storage)),
        _config_map(OPTIONS, namespace, "campus.yaml", settings.options.model_dump(mode="json")),
        *_claims(namespace, storage),
        # Accounts without rights; each pod sets whether it mounts the token.
        *(
            {**named("v1", "ServiceAccount", role, namespace), "automountServiceAccountToken": False}
            for role in ROLES
        ),
        *_rights(DAEMON, namespace, ["create", "delete", "patch"]),
        *_rights(WEBSERVER, namespace, ["delete"]),
        *network_policies(settings, namespace, networks),
        _deployment(
            DAEMON,
            namespace,
            {
                "image": image,
                "command": ["dagster-daemon", "run", *programs.DEFINITIONS],
                "volumeMounts": pods.mounts(settings, storage),
                **pods.daemon_probes(),
            },
            environment | {"DAGSTER_DAEMON_HEARTBEAT_TOLERANCE": str(pods.DAEMON_TOLERANCE)},
            pods.volumes(settings, storage),
        ),
        _deployment(
            WEBSERVER,
            namespace,
            {
                "image": image,
                # Listens inside its pod: `kubectl port-forward` and a login proxy in the same pod reach it.
                "command": ["python", *programs.webserver_arguments("127.0.0.1", PORT, allow_launch=True)],
                "volumeMounts": pods.small_mounts(),
                **pods.webserver_probes(),
            },
            environment,
            pods.webserver_volumes(),
        ),
        {
            **named("v1", "Service", WEBSERVER, namespace),
            "spec": {"selector": {"app": WEBSERVER}, "ports": [{"port": PORT}]},
        },
    ]
    return yaml.safe_dump_all(documents, sort_keys=False)


def _claims(namespace: str, storage: Storage) -> list[Manifest]:
    """The volume of the home, where pods on several machines write; none without a shared home."""
    if storage.home is None:
        return []
    classes = {"storageClassName": storage.storage_class} if storage.storage_class is not None else {}
    spec = {
        "accessModes": ["ReadWriteMany"],
        **classes,
        "resources": {"requests": {"storage": storage.home}},
    }
    return [{**named("v1", "PersistentVolumeClaim", HOME_CLAIM, namespace), "spec": spec}]


def _deployment(
    role: str, namespace: str, program: Manifest, environment: dict[str, str], volumes: list[Manifest]
) -> Manifest:
    """A program with a single pod, which ends before its replacement starts."""
    # The same mount as the launcher's for a run.
    instance_mount = {
        "name": "instance",
        "mountPath": f"{DAGSTER_HOME}/dagster.yaml",
        "subPath": "dagster.yaml",
    }
    container = {
        "name": "campus",
        **program,
        "env": [
            {"name": variable, "value": value}
            for variable, value in {**environment, "DAGSTER_HOME": DAGSTER_HOME}.items()
        ],
        "envFrom": [{"secretRef": {"name": role}}],
        "volumeMounts": [*program["volumeMounts"], instance_mount],
        "resources": pods.program_resources(role),
        "securityContext": pods.container_security(),
    }
    pod = {
        "serviceAccountName": role,
        # Dagster's launcher reads jobs from Kubernetes, in the daemon and in the webserver.
        "automountServiceAccountToken": True,
        "securityContext": pods.pod_security(),
        "containers": [container],
        "volumes": [*volumes, {"name": "instance", "configMap": {"name": INSTANCE}}],
    }
    return {
        **named("apps/v1", "Deployment", role, namespace),
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": {"app": role}},
            "template": {"metadata": {"labels": {"app": role}}, "spec": pod},
        },
    }


def _rights(role: str, namespace: str, verbs: list[str]) -> list[Manifest]:
    """The role's rights: read jobs and pods, the given verbs on jobs, and delete the pods of cancelled
    jobs."""
    read = ["get", "list", "watch"]
    rules = [
        {"apiGroups": ["batch"], "resources": ["jobs", "jobs/status"], "verbs": [*read, *verbs]},
        {"apiGroups": [""], "resources": ["pods", "pods/log", "pods/status", "events"], "verbs": read},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]},
    ]
    group = "rbac.authorization.k8s.io"
    return [
        {**named(f"{group}/v1", "Role", role, namespace), "rules": rules},
        {
            **named(f"{group}/v1", "RoleBinding", role, namespace),
            "roleRef": {"apiGroup": group, "kind": "Role", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": role, "namespace": namespace}],
        },
    ]


def _config_map(name: str, namespace: str, file: str, content: Manifest) -> Manifest:
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return {**named("v1", "ConfigMap", name, namespace), "data": {file: text}}
