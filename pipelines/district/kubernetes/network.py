"""The network policies of a district on Kubernetes: nobody gets in, and each role gets out to its servers."""

import os
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy.engine import make_url

from pipelines.district.kubernetes.pods import DAEMON, RUN, WEBSERVER, Manifest
from pipelines.settings.settings import Settings
from warehouse.stores import is_remote


def network_policies(settings: Settings, namespace: str) -> Iterable[Manifest]:
    """Policies that deny all ingress, and allow each role's egress by the ports of the servers it needs."""
    names, kubernetes = _egress([53], ["UDP", "TCP"]), {443, 6443}
    postgres = (
        make_url(settings.postgres_url.get_secret_value()).port if settings.postgres_url else None
    ) or 5432
    store = os.environ.get("AWS_ENDPOINT_URL", "") if is_remote(settings.lake_root) else ""
    platform = {_port_of(settings.base_url or ""), _port_of(store)}
    mail = {settings.options.notify.mail.port} if settings.options.notify.mail else set()
    notices = mail | {_port_of(settings.notify_url.get_secret_value() if settings.notify_url else "")}
    # A run sends the mails to teachers.
    deliveries = mail if settings.options.exports.deliver else set()
    yield _policy("campus-deny-all", namespace, {}, ["Ingress", "Egress"])
    for role, ports in (
        (DAEMON, kubernetes | platform | notices | {postgres}),
        (WEBSERVER, kubernetes | {postgres}),
        (RUN, platform | deliveries | {postgres}),
    ):
        yield _policy(role, namespace, {"app": role}, ["Egress"], egress=[names, _egress(sorted(ports))])


def named(version: str, kind: str, name: str, namespace: str) -> Manifest:
    """A manifest without its content."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}


def _policy(name: str, namespace: str, pods: dict[str, str], types: list[str], **rules: Any) -> Manifest:
    return {
        **named("networking.k8s.io/v1", "NetworkPolicy", name, namespace),
        "spec": {"podSelector": {"matchLabels": pods} if pods else {}, "policyTypes": types, **rules},
    }


def _egress(ports: list[int], protocols: Iterable[str] = ("TCP",)) -> Manifest:
    return {
        "ports": [{"port": port, "protocol": protocol} for port in ports for protocol in protocols],
    }


def _port_of(address: str) -> int:
    parts = urlsplit(address)
    return parts.port or (80 if parts.scheme == "http" else 443)
