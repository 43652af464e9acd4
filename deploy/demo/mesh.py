"""The control plane: Envoy's configuration as Istio shapes it, in files that Envoy subscribes to.

Clusters (CDS) and listeners (LDS) are written once. Endpoints (EDS) follow the EndpointSlices, but
`eds_delay` late: what Envoy believes at t is what the slices said at t - eds_delay. That lag is the
phenomenon; in a real mesh it is debounce, queue and push.

Two paths lead to one service, and a third cluster only has its endpoints health-checked:
  10.96.7.10:8080  http_connection_manager, retries as Istio sets them, access log
  10.96.7.10:8443  TLS passthrough: SNI filter chain to tcp_proxy, no retry, no log
  port 8081        active health checks by Envoy's main thread; no caller uses it
"""

import json
import os
import threading
import time

import kube

SERVICE_IP = "10.96.7.10"
HOST = "catalog.shop.svc.cluster.local"
HTTP_PORT, TLS_PORT, HEALTH_PORT = 8080, 8443, 8081
CONNECT_TIMEOUT = "1s"

_TYPE = "type.googleapis.com/envoy."


def cluster_name(port):
    return f"outbound|{port}||{HOST}"


def _any(kind, **fields):
    return {"@type": _TYPE + kind, **fields}


def _cluster(folder, port, **more):
    name = cluster_name(port)
    return _any(
        "config.cluster.v3.Cluster", name=name, alt_stat_name=name + ";", type="EDS",
        eds_cluster_config={
            "service_name": name,
            "eds_config": {"path_config_source": {"path": _eds_path(folder, port)},
                           "resource_api_version": "V3"}},
        connect_timeout=CONNECT_TIMEOUT, lb_policy="ROUND_ROBIN",
        # Istio lifts the retry limit because endpoints lag behind pods.
        circuit_breakers={"thresholds": [{"max_connections": 4294967295, "max_requests": 4294967295,
                                          "max_pending_requests": 4294967295,
                                          "max_retries": 4294967295}]},
        metadata={"filter_metadata": {"istio": {"services": [
            {"host": HOST, "name": "catalog", "namespace": kube.NAMESPACE}]}}},
        **more)


def _health_check():
    # Without these intervals Envoy checks a cluster that has no traffic once a minute.
    return {"timeout": "0.5s", "interval": "0.5s", "no_traffic_interval": "0.5s",
            "no_traffic_healthy_interval": "0.5s", "unhealthy_threshold": 3, "healthy_threshold": 1,
            "reuse_connection": False, "http_health_check": {"path": "/healthz", "host": HOST}}


def _clusters(folder):
    return [
        _cluster(folder, HTTP_PORT),
        _cluster(folder, TLS_PORT),
        _cluster(folder, HEALTH_PORT, health_checks=[_health_check()]),
        _any("config.cluster.v3.Cluster", name="PassthroughCluster", type="ORIGINAL_DST",
             lb_policy="CLUSTER_PROVIDED", connect_timeout=CONNECT_TIMEOUT),
    ]


def _http_manager(access_log):
    fields = {"flags": "%RESPONSE_FLAGS%", "code": "%RESPONSE_CODE%", "upstream": "%UPSTREAM_HOST%",
              "attempts": "%UPSTREAM_REQUEST_ATTEMPT_COUNT%", "ms": "%DURATION%"}
    return {"name": "envoy.filters.network.http_connection_manager", "typed_config": _any(
        "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        stat_prefix="outbound_0.0.0.0_8080",
        access_log=[{"name": "envoy.access_loggers.file", "typed_config": _any(
            "extensions.access_loggers.file.v3.FileAccessLog", path=access_log,
            log_format={"json_format": fields})}],
        route_config={"name": str(HTTP_PORT), "virtual_hosts": [{
            "name": f"{HOST}:{HTTP_PORT}", "domains": ["*"], "routes": [{
                "name": "default", "match": {"prefix": "/"},
                "route": {"cluster": cluster_name(HTTP_PORT), "timeout": "0s", "retry_policy": {
                    "retry_on": "connect-failure,refused-stream,unavailable,cancelled,"
                                "retriable-status-codes",
                    "num_retries": 2, "host_selection_retry_max_attempts": 5,
                    "retry_host_predicate": [{
                        "name": "envoy.retry_host_predicates.previous_hosts",
                        "typed_config": _any("extensions.retry.host.previous_hosts.v3."
                                             "PreviousHostsPredicate")}]}}}]}]},
        http_filters=[{"name": "envoy.filters.http.router", "typed_config": _any(
            "extensions.filters.http.router.v3.Router")}])}


def _tcp_proxy(cluster):
    return {"name": "envoy.filters.network.tcp_proxy", "typed_config": _any(
        "extensions.filters.network.tcp_proxy.v3.TcpProxy", stat_prefix=cluster, cluster=cluster)}


def _listener(name, ip, port, filter_chains, **more):
    return _any("config.listener.v3.Listener", name=name, filter_chains=filter_chains,
                address={"socket_address": {"address": ip, "port_value": port}},
                traffic_direction="OUTBOUND", **more)


def _listeners(access_log):
    sni = {"name": "envoy.filters.listener.tls_inspector", "typed_config": _any(
        "extensions.filters.listener.tls_inspector.v3.TlsInspector")}
    return [
        # Redirected connections arrive here and are handed to the listener of their destination.
        _listener("virtualOutbound", "0.0.0.0", 15001, use_original_dst=True, filter_chains=[
            {"name": "virtualOutbound-catchall-tcp", "filters": [_tcp_proxy("PassthroughCluster")]}]),
        _listener(f"0.0.0.0_{HTTP_PORT}", "0.0.0.0", HTTP_PORT, bind_to_port=False,
                  filter_chains=[{"filters": [_http_manager(access_log)]}]),
        _listener(f"{SERVICE_IP}_{TLS_PORT}", SERVICE_IP, TLS_PORT, bind_to_port=False,
                  listener_filters=[sni],
                  filter_chains=[{"filter_chain_match": {"server_names": [HOST]},
                                  "filters": [_tcp_proxy(cluster_name(TLS_PORT))]}]),
    ]


def _bootstrap(folder, pod):
    node_id = f"sidecar~{pod.ip}~{pod.name}.{kube.NAMESPACE}~{kube.NAMESPACE}.svc.cluster.local"

    def source(name):
        return {"path_config_source": {"path": os.path.join(folder, name)},
                "resource_api_version": "V3"}

    return {
        "node": {"id": node_id, "cluster": f"{pod.workload.name}.{kube.NAMESPACE}",
                 "metadata": {"NAME": pod.name, "NAMESPACE": kube.NAMESPACE, "CLUSTER_ID": "Kubernetes",
                              "INSTANCE_IPS": pod.ip, "INTERCEPTION_MODE": "REDIRECT",
                              "NODE_NAME": kube.NODE}},
        "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 15000}}},
        "dynamic_resources": {"cds_config": source("cds.json"), "lds_config": source("lds.json")},
    }


def _eds_path(folder, port):
    return os.path.join(folder, f"eds-{port}.json")


def _put(path, content):
    """Renames the file into place: the only change that Envoy's file watch takes notice of."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
    os.chmod(path + ".new", 0o644)
    os.rename(path + ".new", path)


class ControlPlane:
    """Writes the configuration, then lets EDS follow the slices, `eds_delay` seconds late."""

    def __init__(self, folder, eds_delay, on_push=lambda addresses: None):
        self.folder = folder
        self.bootstrap = os.path.join(folder, "envoy-rev.json")
        self.access_log = os.path.join(folder, "log", "access.log")
        self._eds_delay = eds_delay
        self._on_push = on_push
        self._pushes = 0
        self.last_pushed = []
        self._due = []  # (monotonic time, endpoints), in order
        self._condition = threading.Condition()
        self._going = True
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def start(self, client_pod):
        """Configures the client's proxy. Endpoints known by now are in its first EDS, undelayed."""
        with self._condition:
            known = self._due[-1][1] if self._due else []
            self._due.clear()
        self.push(known)
        _put(os.path.join(self.folder, "cds.json"), self._response(_clusters(self.folder)))
        _put(os.path.join(self.folder, "lds.json"), self._response(_listeners(self.access_log)))
        _put(self.bootstrap, _bootstrap(self.folder, client_pod))
        self._thread.start()

    def stop(self):
        with self._condition:
            self._going = False
            self._condition.notify()
        if self._thread.ident is not None:
            self._thread.join()

    def push(self, pods):
        """Writes the EDS files of all three clusters now."""
        self._pushes += 1
        for port in (HTTP_PORT, TLS_PORT, HEALTH_PORT):
            _put(_eds_path(self.folder, port), self._response([_any(
                "config.endpoint.v3.ClusterLoadAssignment", cluster_name=cluster_name(port),
                endpoints=[{"lb_endpoints": [_lb_endpoint(pod, port) for pod in pods]}])]))
        addresses = [pod.ip for pod in pods]
        if addresses != self.last_pushed:
            self.last_pushed = addresses
            self._on_push(addresses)

    def endpoints_changed(self, service, ready):
        """A slice changed: Envoy will be told `eds_delay` later what it says now."""
        if service != "catalog":
            return
        with self._condition:
            self._due.append((time.monotonic() + self._eds_delay, list(ready)))
            self._condition.notify()

    def idle(self):
        """Whether Envoy has been told everything."""
        with self._condition:
            return not self._due

    def _follow(self):
        while True:
            with self._condition:
                while self._going and not (self._due and self._due[0][0] <= time.monotonic()):
                    self._condition.wait(self._due[0][0] - time.monotonic() if self._due else None)
                if not self._going:
                    return
                pods = self._due[0][1]
            self.push(pods)
            with self._condition:
                self._due.pop(0)

    def _response(self, resources):
        return {"version_info": f"{kube.api_time()}/{self._pushes}", "resources": resources}


def _lb_endpoint(pod, port):
    workload = f"{pod.workload.name};{kube.NAMESPACE};catalog;{pod.workload.revision};Kubernetes"
    return {"endpoint": {"address": {"socket_address": {"address": pod.ip, "port_value": port}}},
            "health_status": "HEALTHY", "load_balancing_weight": 1,
            "metadata": {"filter_metadata": {"istio": {"workload": workload}}}}
