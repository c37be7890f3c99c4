"""What all pods of a district on Kubernetes have: volumes, the profile `restricted`, resources and probes."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from pipelines.district import programs
from pipelines.settings.settings import Settings
from warehouse.stores import is_remote

Manifest = dict[str, Any]

#: The roles. Account, Secret, and the label `app` of the pods have the name of the role.
DAEMON, WEBSERVER, RUN = "campus-daemon", "campus-webserver", "campus-run"
ROLES = (DAEMON, WEBSERVER, RUN)
INSTANCE, OPTIONS, HOME_CLAIM = "campus-instance", "campus-options", "campus-home"
HOME, DAGSTER_HOME = "/srv/campus", "/srv/dagster"
#: The user of deploy/Containerfile.
USER = 10001
PORT = 3000
#: The limit of /tmp, of DAGSTER_HOME, and of the home of the webserver.
SMALL = "1Gi"
#: GiB of the node's disk that a load, the daemon and the webserver request. A load writes less than it reads:
#: 0.7 GB of a school of 1,000 students (docs/how-to/district.md).
DISK = 2
#: MiB of a pod that loads: its request and its limit. The peaks of all pods are in docs/how-to/district.md.
LOAD_MEMORY = (1024, 2048)
#: MiB of a build beyond publish.memory_limit: its request and its limit.
BUILD_EXTRA = (640, 1024)
#: MiB of the daemon and of the webserver: request and limit.
PROGRAM_MEMORY = {DAEMON: (1024, 2048), WEBSERVER: (512, 1024)}
#: Bytes of the units of publish.memory_limit.
UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
#: Seconds of a daemon without heartbeats after which Dagster's check fails, and the daemon ends itself.
DAEMON_TOLERANCE = 300


@dataclass(frozen=True)
class Storage:
    """Where pods write."""

    #: The size of the home that all pods share; None: each pod has an empty home.
    home: str | None
    #: The class of that volume; None: the cluster's default.
    storage_class: str | None
    #: GiB that a pod may write into each of its scratch volumes, besides copies of the lake.
    scratch: int


def volumes(settings: Settings, storage: Storage) -> list[Manifest]:
    """The volumes of the daemon and of the runs."""
    copies = ceil(settings.options.lake.cache_gb) if is_remote(settings.lake_root) else 0
    size = f"{storage.scratch + copies}Gi"
    if storage.home is None:
        return [_scratch("home", size), *_small_volumes()]
    home = {"name": "home", "persistentVolumeClaim": {"claimName": HOME_CLAIM}}
    return [home, *(_scratch(name, size) for name in _scratch_folders(settings)), *_small_volumes()]


def mounts(settings: Settings, storage: Storage) -> list[Manifest]:
    """Where these volumes are mounted."""
    folders = _scratch_folders(settings) if storage.home is not None else {}
    return [
        *small_mounts(),
        *({"name": name, "mountPath": f"{HOME}/{folder}"} for name, folder in folders.items()),
    ]


def webserver_volumes() -> list[Manifest]:
    """The volumes of the webserver, whose home is empty: the UI shows runs and assets, but no rows about
    children."""
    return [_scratch("home", SMALL), *_small_volumes()]


def small_mounts() -> list[Manifest]:
    """The mounts of each pod."""
    return [
        {"name": "home", "mountPath": HOME},
        {"name": "options", "mountPath": "/etc/campus"},
        {"name": "dagster", "mountPath": DAGSTER_HOME},
        {"name": "tmp", "mountPath": "/tmp"},
    ]


def environment(settings: Settings) -> dict[str, str]:
    """The variables of each pod that are not secret. The choice of the home rests on the lake and on writing,
    so no Secret may set these otherwise."""
    lake = {"CAMPUS_LAKE": settings.lake} if settings.lake is not None else {}
    return {
        "CAMPUS_HOME": HOME,
        "CAMPUS_CONFIG": "/etc/campus/campus.yaml",
        "CAMPUS_KUBERNETES": "true",
        "CAMPUS_ALLOW_WRITES": str(settings.allow_writes).lower(),
        **lake,
    }


def pod_security() -> Manifest:
    """The security context of a pod, by the profile `restricted`."""
    return {
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security() -> Manifest:
    """The security context of a container, by the profile `restricted` and with a read-only root."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


def load_resources() -> Manifest:
    """The resources of a run that loads."""
    return _resources("500m", *LOAD_MEMORY, DISK)


def build_resources(settings: Settings, storage: Storage) -> Manifest:
    """The resources of a run that builds or exports. It may fill its scratch."""
    limit = settings.options.publish.memory_limit
    duckdb = ceil(float(limit[:-2]) * UNITS[limit[-2:]] / 2**20)
    request, most = (duckdb + extra for extra in BUILD_EXTRA)
    return _resources("500m", request, most, storage.scratch)


def program_resources(role: str) -> Manifest:
    """The resources of the daemon or the webserver."""
    return _resources("250m", *PROGRAM_MEMORY[role], DISK)


def daemon_probes() -> Manifest:
    """The probes of the daemon, by its heartbeats in Postgres. Three checks in a row must fail, so that a
    restart of Postgres does not restart the daemon."""
    check = {"exec": {"command": ["dagster-daemon", "liveness-check"]}, "timeoutSeconds": 60}
    return {
        "startupProbe": {**check, "periodSeconds": 30, "failureThreshold": 20},
        "livenessProbe": {**check, "periodSeconds": 120, "failureThreshold": 3},
    }


def webserver_probes() -> Manifest:
    """The probes of the webserver, which answers only inside its pod."""
    check = {"exec": {"command": programs.webserver_check(PORT)}, "timeoutSeconds": 15}
    return {
        "startupProbe": {**check, "periodSeconds": 10, "failureThreshold": 30},
        "readinessProbe": {**check, "periodSeconds": 30, "failureThreshold": 1},
        "livenessProbe": {**check, "periodSeconds": 60, "failureThreshold": 3},
    }


def _scratch_folders(settings: Settings) -> Mapping[str, str]:
    """The folders of a shared home that each pod has for itself, by the name of the volume: the spill of
    loads and of builds, and copies of the store. The finished file of a build is moved within the home, if
    the home has the published file."""
    folders = {"scratch": "scratch", "build": "build" if settings.shards else "build/spill"}
    return folders | ({"cache": "cache"} if is_remote(settings.lake_root) else {})


def _small_volumes() -> list[Manifest]:
    return [
        {"name": "options", "configMap": {"name": OPTIONS}},
        _scratch("dagster", SMALL),
        _scratch("tmp", SMALL),
    ]


def _scratch(name: str, size: str) -> Manifest:
    return {"name": name, "emptyDir": {"sizeLimit": size}}


def _resources(cpu: str, request: int, limit: int, disk: int) -> Manifest:
    requests = {"cpu": cpu, "memory": f"{request}Mi", "ephemeral-storage": f"{disk}Gi"}
    return {"requests": requests, "limits": {"memory": f"{limit}Mi"}}
