"""Envoy's configuration, shaped as Istio shapes it. Values only; mesh.py puts them into files.

Two paths lead to one service, and a third cluster only has its endpoints health-checked:
  10.96.7.10:8080  http_connection_manager, retries as Istio sets them, access log
  10.96.7.10:8443  TLS passthrough: SNI filter chain to tcp_proxy, no retry, no log
  port 8081        active health checks by Envoy's main thread; no caller uses it
"""

import os

import kube

SERVICE_IP = "10.96.7.10"
HOST = "catalog.shop.svc.cluster.local"
HTTP_PORT, TLS_PORT, HEALTH_PORT = 8080, 8443, 8081
PORTS = (HTTP_PORT, TLS_PORT, HEALTH_PORT)
CONNECT_TIMEOUT = "1s"
RETRY_ON = "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes"

_TYPE = "type.googleapis.com/envoy."


def cluster_name(port):
    return f"outbound|{port}||{HOST}"


def _any(kind, **fields):
    return {"@type": _TYPE + kind, **fields}


def _cluster(folder, port, **more):
    name = cluster_name(port)
    return _any(
        "config.cluster.v3.Cluster",
        name=name,
        alt_stat_name=name + ";",
        type="EDS",
        eds_cluster_config={
            "service_name": name,
            "eds_config": {
                "path_config_source": {"path": eds_path(folder, port)},
                "resource_api_version": "V3",
            },
        },
        connect_timeout=CONNECT_TIMEOUT,
        lb_policy="ROUND_ROBIN",
        # Istio lifts the retry limit because endpoints lag behind pods.
        circuit_breakers={
            "thresholds": [
                {
                    "max_connections": 4294967295,
                    "max_requests": 4294967295,
                    "max_pending_requests": 4294967295,
                    "max_retries": 4294967295,
                }
            ]
        },
        metadata={
            "filter_metadata": {
                "istio": {
                    "services": [{"host": HOST, "name": "catalog", "namespace": kube.NAMESPACE}]
                }
            }
        },
        **more,
    )


def _health_check():
    # Without these intervals Envoy checks a cluster that has no traffic once a minute.
    return {
        "timeout": "0.5s",
        "interval": "0.5s",
        "no_traffic_interval": "0.5s",
        "no_traffic_healthy_interval": "0.5s",
        "unhealthy_threshold": 3,
        "healthy_threshold": 1,
        "reuse_connection": False,
        "http_health_check": {"path": "/healthz", "host": HOST},
    }


def clusters(folder):
    return [
        _cluster(folder, HTTP_PORT),
        _cluster(folder, TLS_PORT),
        _cluster(
            folder, HEALTH_PORT, health_checks=[_health_check()], ignore_health_on_host_removal=True
        ),
        _any(
            "config.cluster.v3.Cluster",
            name="PassthroughCluster",
            type="ORIGINAL_DST",
            lb_policy="CLUSTER_PROVIDED",
            connect_timeout=CONNECT_TIMEOUT,
        ),
    ]


def _extension(name, kind, **fields):
    return {"name": "envoy." + name, "typed_config": _any("extensions." + kind, **fields)}


def _retry_policy():
    """What istiod gives to every route."""
    other_host = _extension(
        "retry_host_predicates.previous_hosts",
        "retry.host.previous_hosts.v3.PreviousHostsPredicate",
    )
    return {
        "retry_on": RETRY_ON,
        "num_retries": 2,
        "host_selection_retry_max_attempts": 5,
        "retry_host_predicate": [other_host],
    }


def _http_manager(access_log):
    fields = {
        "flags": "%RESPONSE_FLAGS%",
        "code": "%RESPONSE_CODE%",
        "upstream": "%UPSTREAM_HOST%",
        "attempts": "%UPSTREAM_REQUEST_ATTEMPT_COUNT%",
        "ms": "%DURATION%",
    }
    log = _extension(
        "access_loggers.file",
        "access_loggers.file.v3.FileAccessLog",
        path=access_log,
        log_format={"json_format": fields},
    )
    action = {
        "cluster": cluster_name(HTTP_PORT),
        "timeout": "0s",
        "retry_policy": _retry_policy(),
    }
    virtual_host = {
        "name": f"{HOST}:{HTTP_PORT}",
        "domains": ["*"],
        "routes": [{"name": "default", "match": {"prefix": "/"}, "route": action}],
    }
    return _extension(
        "filters.network.http_connection_manager",
        "filters.network.http_connection_manager.v3.HttpConnectionManager",
        stat_prefix="outbound_0.0.0.0_8080",
        access_log=[log],
        route_config={"name": str(HTTP_PORT), "virtual_hosts": [virtual_host]},
        http_filters=[_extension("filters.http.router", "filters.http.router.v3.Router")],
    )


def _tcp_proxy(cluster):
    return _extension(
        "filters.network.tcp_proxy",
        "filters.network.tcp_proxy.v3.TcpProxy",
        stat_prefix=cluster,
        cluster=cluster,
    )


def _listener(name, ip, port, filter_chains, **more):
    return _any(
        "config.listener.v3.Listener",
        name=name,
        filter_chains=filter_chains,
        address={"socket_address": {"address": ip, "port_value": port}},
        traffic_direction="OUTBOUND",
        **more,
    )


def listeners(access_log):
    # Redirected connections arrive at the first, which hands them to the listener they meant.
    catchall = {
        "name": "virtualOutbound-catchall-tcp",
        "filters": [_tcp_proxy("PassthroughCluster")],
    }
    http = {"filters": [_http_manager(access_log)]}
    by_sni = {
        "filter_chain_match": {"server_names": [HOST]},
        "filters": [_tcp_proxy(cluster_name(TLS_PORT))],
    }
    inspector = _extension(
        "filters.listener.tls_inspector", "filters.listener.tls_inspector.v3.TlsInspector"
    )
    return [
        _listener("virtualOutbound", "0.0.0.0", 15001, [catchall], use_original_dst=True),
        _listener(f"0.0.0.0_{HTTP_PORT}", "0.0.0.0", HTTP_PORT, [http], bind_to_port=False),
        _listener(
            f"{SERVICE_IP}_{TLS_PORT}",
            SERVICE_IP,
            TLS_PORT,
            [by_sni],
            bind_to_port=False,
            listener_filters=[inspector],
        ),
    ]


def bootstrap(folder, pod):
    node_id = f"sidecar~{pod.ip}~{pod.name}.{kube.NAMESPACE}~{kube.NAMESPACE}.svc.cluster.local"

    def source(name):
        return {
            "path_config_source": {"path": os.path.join(folder, name)},
            "resource_api_version": "V3",
        }

    return {
        "node": {
            "id": node_id,
            "cluster": f"{pod.workload.name}.{kube.NAMESPACE}",
            "metadata": {
                "NAME": pod.name,
                "NAMESPACE": kube.NAMESPACE,
                "CLUSTER_ID": "Kubernetes",
                "INSTANCE_IPS": pod.ip,
                "INTERCEPTION_MODE": "REDIRECT",
                "NODE_NAME": kube.NODE,
            },
        },
        "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 15000}}},
        "dynamic_resources": {"cds_config": source("cds.json"), "lds_config": source("lds.json")},
    }


def eds_path(folder, port):
    return os.path.join(folder, f"eds-{port}.json")


def _lb_endpoint(pod, port):
    workload = f"{pod.workload.name};{kube.NAMESPACE};catalog;{pod.workload.revision};Kubernetes"
    return {
        "endpoint": {"address": {"socket_address": {"address": pod.ip, "port_value": port}}},
        "health_status": "HEALTHY",
        "load_balancing_weight": 1,
        "metadata": {"filter_metadata": {"istio": {"workload": workload}}},
    }


def assignment(pods, port):
    """The EDS resource of one cluster."""
    return _any(
        "config.endpoint.v3.ClusterLoadAssignment",
        cluster_name=cluster_name(port),
        endpoints=[{"lb_endpoints": [_lb_endpoint(pod, port) for pod in pods]}],
    )
