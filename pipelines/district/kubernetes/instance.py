"""dagster.yaml of all pods of a district on Kubernetes."""

from pipelines.district.config import multi_machine_config
from pipelines.district.kubernetes import pods
from pipelines.district.kubernetes.pods import Manifest, Storage
from pipelines.runs.instance import CONFIG, POSTGRES
from pipelines.settings.settings import Settings

#: Seconds for which Kubernetes keeps an ended job. Its events are in Postgres.
KEEP_JOBS = 86_400
#: The entry point of a run's container. Dagster's launcher adds its own command.
RUN_PROGRAM = ["python", "-m", "pipelines.district.kubernetes.run_program"]


def instance(settings: Settings, image: str, namespace: str, storage: Storage) -> Manifest:
    """The content of dagster.yaml."""
    pod = {
        "securityContext": pods.pod_security(),
        "automountServiceAccountToken": False,
        # A run that was given up kills itself, which the first process of a namespace cannot.
        "shareProcessNamespace": True,
    }
    launcher = {
        "module": "pipelines.district.kubernetes.launcher",
        "class": "WatchedKubernetesLauncher",
        "config": {
            "service_account_name": pods.RUN,
            "job_image": image,
            "job_namespace": namespace,
            "instance_config_map": pods.INSTANCE,
            "dagster_home": pods.DAGSTER_HOME,
            "env_secrets": [pods.RUN],
            "labels": {"app": pods.RUN},
            "env_vars": [f"{name}={value}" for name, value in pods.environment(settings).items()],
            "volumes": pods.volumes(settings, storage),
            "volume_mounts": pods.mounts(settings, storage),
            "resources": pods.load_resources(),
            "build_resources": pods.build_resources(settings, storage),
            "security_context": pods.container_security(),
            # No tag of a run may change its pod: whoever can launch runs could read every Secret.
            "only_allow_user_defined_k8s_config_fields": {},
            "run_k8s_config": {
                "container_config": {"command": RUN_PROGRAM},
                "pod_spec_config": pod,
                # A killed run is retried as a new run of Dagster, not as a new pod of its job.
                "job_spec_config": {"ttlSecondsAfterFinished": KEEP_JOBS, "backoffLimit": 0},
            },
        },
    }
    return CONFIG | POSTGRES | {"run_launcher": launcher} | multi_machine_config(settings, CONFIG)
